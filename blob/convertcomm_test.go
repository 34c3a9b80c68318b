package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

// conversions are the outputs that ranks make together.
func conversions() map[string]ConvertOptions {
	return map[string]ConvertOptions{
		"canonical": {},
		"variable":  {Blobs: true, Ranks: 5, Subfiles: 2},
		"process":   {Blobs: true, Layout: ProcessCentric, Ranks: 3, Subfiles: 2},
		"own maps":  {Blobs: true, Layout: ProcessCentric},
		"part":      {Blobs: true, Ranks: 2, Vars: []string{"T", "time"}, Records: &Range{2, 5}},
	}
}

// TestConvertComm: however many ranks convert, the output is the same.
func TestConvertComm(t *testing.T) {
	m := tinyModel(1, 7)
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		for name, co := range conversions() {
			t.Run(fmt.Sprintf("%v to %s", l, name), func(t *testing.T) {
				mem := vfs.NewMem()
				m.writeTo(t, mem, &settings{Options: Options{Layout: l}, knobs: knobs{fs: mem}})
				ctx := context.Background()
				convert := func(ctx context.Context, c comm.Comm, out string) error {
					r, err := openWith(ctx, "d.nc", nil, knobs{fs: mem})
					must(err)
					defer r.Close()
					o := co
					return ConvertComm(ctx, c, r, out, &o)
				}
				must(mem.Mkdir("one"))
				must(convert(ctx, comm.Self(), "one/o.nc"))
				for _, n := range []int{1, 2, 3, 4, 9} {
					dir := fmt.Sprintf("n%d", n)
					must(mem.Mkdir(dir))
					if err := run(n, func(ctx context.Context, c comm.Comm) error { return convert(ctx, comm.Isolate(c), dir+"/o.nc") }); err != nil {
						t.Fatalf("%d ranks: %v", n, err)
					}
					want, got := names(mem, "one"), names(mem, dir)
					if len(want) == 0 || strings.Join(want, " ") != strings.Join(got, " ") {
						t.Fatalf("%d ranks made %v, one %v", n, got, want)
					}
					for _, f := range want {
						f, _, _ = strings.Cut(f, "(")
						a := need(slurp(mem, "one/"+f))
						b := need(slurp(mem, dir+"/"+f))
						if !strings.HasSuffix(f, ".manifest") && !bytes.Equal(a, b) {
							t.Errorf("%d ranks: %s: %s", n, f, firstDiff(b, a))
						}
					}
					if bad := checkErrors(mem, dir+"/o.nc"); len(bad) > 0 {
						t.Errorf("%d ranks: %v", n, bad)
					}
				}
			})
		}
	}
}

// TestFaultConvertComm: what fails on one rank fails on all, and nothing is left.
func TestFaultConvertComm(t *testing.T) {
	m := tinyModel(1, 7)
	mem := vfs.NewMem()
	m.writeTo(t, mem, &settings{knobs: knobs{fs: mem}})
	for name, co := range conversions() {
		for _, who := range crashtest.Some(t, 1, []int{0, 1, 2}) {
			t.Run(fmt.Sprintf("%s/%d", name, who), func(t *testing.T) {
				failed := 0
				for n := int64(1); ; n++ {
					here := mem.CrashClone(vfs.CrashOptions{})
					var hit vfs.Op
					errs, _ := eachRank(3, func(ctx context.Context, c comm.Comm) error {
						fsys := vfs.FS(here)
						if c.Rank() == who {
							fsys = vfs.NewFault(here, func(op vfs.Op) error {
								if op.Seq != n {
									return nil
								}
								hit = op
								return errDisk
							})
						}
						r, err := openWith(ctx, "d.nc", nil, knobs{fs: here})
						if err != nil {
							return err
						}
						defer r.Close()
						o := co
						o.Workers = 1
						return convertWith(ctx, comm.Isolate(c), r, "o.nc", &o, knobs{fs: fsys})
					})
					if hit.Seq == 0 {
						break // beyond the last operation
					}
					bad := 0
					for r, err := range errs {
						if err != nil {
							bad++
							if r == who && !errors.Is(err, errDisk) || !strings.Contains(err.Error(), errDisk.Error()) {
								t.Fatalf("%v: rank %d: %v", hit, r, err)
							}
						}
					}
					if bad != 0 && bad != 3 || bad == 0 && !mayIgnore(hit) {
						t.Fatalf("%v: errors %v", hit, errs)
					}
					if bad > 0 {
						failed++
					}
					left := strings.Join(names(here, "."), " ")
					_, err := openWith(t.Context(), "o.nc", nil, knobs{fs: here})
					// What fails once the record is written, or while things are removed, leaves something that the next writer clears away.
					if bad == 3 && err != nil && strings.Contains(left, "o.nc") && hit.Kind != vfs.OpRemove && hit.Kind != vfs.OpSyncDir {
						t.Errorf("%v: left: %s", hit, left)
					}
				}
				if failed == 0 {
					t.Error("nothing failed")
				}
			})
		}
	}
}
