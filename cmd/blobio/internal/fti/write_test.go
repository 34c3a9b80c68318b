package fti_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/fti"
	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

// TestFFWriteIsWhole lets convert, compact and repair fail (full disk, cancellation or power cut) before each file operation.
// The final name must have the old content or the complete new file, and no other files may remain.
func TestFFWriteIsWhole(t *testing.T) {
	data := bytes.Repeat([]byte("checkpoint"), 1200)
	path := ffWrite(t, filepath.Join(t.TempDir(), "Ckpt1-Rank0.fti"), 1, []ffPart{{1, 0, 0, 12000, data}, {2, 0, 0, 9000, data[3:9003]}}, []ffPart{{3, 0, 0, 5000, data[:5000]}})
	b := clitest.Read(t, path)
	b[25000] ^= 1 // in variable 3, so that there is something to repair
	torn := filepath.Join(t.TempDir(), "torn.fti")
	clitest.Check(t, os.WriteFile(torn, b, 0o666))
	eio := errors.New("input/output error")
	old := []byte("the old file")

	verbs := map[string]func(ctx context.Context, dst vfs.File) (bool, error){
		"repair": func(ctx context.Context, dst vfs.File) (bool, error) {
			f, err := fti.OpenFF(torn)
			clitest.Check(t, err)
			defer f.Close()
			size, err := f.Size()
			clitest.Check(t, err)
			rep, err := ffformat.Repair(ctx, f, size, torn, dst, &ffformat.Options{Workers: 1})
			return err == nil && rep.File != nil, err
		},
	}
	for name, write := range map[string]func(context.Context, *ffformat.Reader, vfs.File, *ffformat.Options) (*ffformat.File, error){
		"convert": ffformat.Convert, "compact": ffformat.Compact} {
		verbs[name] = func(ctx context.Context, dst vfs.File) (bool, error) {
			f, r, err := fti.OpenFFReader(t.Context(), path, false)
			clitest.Check(t, err)
			defer f.Close()
			_, err = write(ctx, r, dst, &ffformat.Options{Layout: ffformat.LayoutA, Workers: 1})
			return err == nil, err
		}
	}
	for verb, f := range verbs {
		for _, how := range []string{"error", "cancelled", "power cut", "full disk"} {
			for _, force := range []bool{false, true} {
				failed, done := 0, false
				for n := int64(1); !done; n++ {
					mem := vfs.NewMem()
					if force {
						clitest.Check(t, vfs.WriteFile(mem, "out.fti", old))
						clitest.Check(t, mem.SyncDir("."))
					}
					ctx, cancel := context.WithCancel(t.Context())
					ops, cut := int64(0), mem
					fsys := vfs.NewFault(mem, func(vfs.Op) error {
						if ops++; ops == n {
							switch how {
							case "error":
								return eio
							case "cancelled":
								cancel()
							case "power cut":
								cut = mem.CrashClone(vfs.CrashOptions{})
							}
						}
						return nil
					})
					if how == "full disk" {
						mem.SetCapacity(mem.Used() + n*4096) // pages
					}
					err := cli.WriteOutput(ctx, fsys, "out.fti", durable.OutputOptions{Force: force}, func(dst vfs.File) (bool, error) { return f(ctx, dst) })
					cancel()
					if how == "full disk" {
						done = err == nil
					} else {
						done = ops < n
					}
					if how == "power cut" && err != nil || done && err != nil {
						t.Fatal(verb, how, n, err)
					}
					if err != nil {
						failed++
					}
					if how == "power cut" && !done {
						mem = cut
					}
					entries, lerr := mem.ReadDir(".")
					clitest.Check(t, lerr)
					for _, x := range entries {
						lease := how == "error" && x.Name() == durable.LockName("out.fti") // the lock could not be removed; it ends with the process
						if x.Name() != "out.fti" && how != "power cut" && !lease {
							t.Errorf("%s, %s at %d: %s is left", verb, how, n, x.Name())
						}
					}
					got, rerr := vfs.ReadFile(mem, "out.fti", 1<<20)
					switch {
					case force && slices.Equal(got, old) && err != nil, force && slices.Equal(got, old) && how == "power cut" && !done:
					case !force && rerr != nil && (err != nil || how == "power cut" && !done):
					case rerr != nil || !ffWhole(mem, "out.fti"):
						t.Errorf("%s, %s at %d: %v, and out.fti has %d bytes and is not whole (%v)", verb, how, n, err, len(got), rerr)
					}
				}
				if failed == 0 && how != "power cut" {
					t.Errorf("%s, %s: nothing failed", verb, how)
				}
			}
		}
	}
}
