package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestReplacedWhileOpen checks a reader whose dataset is replaced. It must return data of the dataset that it opened, or an
// error, even if the new dataset has the same headers. Appends must not disturb the reader.
func TestReplacedWhileOpen(t *testing.T) {
	ctx := context.Background()
	for _, o := range []dataset.Settings{{}, {Options: dataset.Options{Layout: dataset.ProcessCentric}}, {Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}}}} {
		for _, open := range []int{0, 1} { // with 1 the reader closes and reopens files all the time
			for _, add := range []bool{false, true} {
				what := fmt.Sprintf("%v %v, %d open, append %v", o.Layout, o.Compress, open, add)
				mem := vfs.NewMem()
				o.Subfiles, o.Fs, o.Durability, o.Force = 2, mem, dataset.DurableNone, true
				was, now := tinyModel(1, 2), tinyModel(2, 2)
				must(run(was.ranks, func(ctx context.Context, c comm.Comm) error { return was.create(ctx, c, "d.nc", &o) }))
				r := need(read.OpenWith(ctx, "d.nc", &read.OpenOptions{MaxOpen: open, Workers: 1}, dataset.Knobs{Fs: mem}))
				must(r.Read(ctx, "time", nil, nil, make([]float64, 2)))
				if add {
					must(run(was.ranks, func(ctx context.Context, c comm.Comm) error { return was.upTo(3).add(ctx, c, "d.nc", &o) }))
				} else {
					must(run(now.ranks, func(ctx context.Context, c comm.Comm) error { return now.create(ctx, c, "d.nc", &o) }))
				}
				got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
				if err == nil && !bytes.Equal(got, was.canonical(false)) {
					t.Errorf("%s: other bytes than those of the dataset that was opened", what)
				}
				if err != nil && (add || !errors.Is(err, dataset.ErrBroken)) {
					t.Errorf("%s: %v", what, err)
				}
				must(r.Close())
				got, err = canonicalOf(mem, "d.nc")
				if want := map[bool]*model{false: now, true: was.upTo(3)}[add].canonical(false); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: opened anew: %v", what, err)
				}
			}
		}
	}
}

// TestCanonicalReplaced checks the canonical file of a dataset that is replaced. A read must return bytes of the opened
// dataset, or an error. Bytes decoded earlier stay readable.
func TestCanonicalReplaced(t *testing.T) {
	for _, o := range []dataset.Settings{{}, {Options: dataset.Options{Layout: dataset.ProcessCentric}}, {Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}}}} {
		for _, open := range []int{0, 1} {
			for _, removed := range []bool{false, true} {
				mem := vfs.NewMem()
				o.Subfiles, o.Fs, o.Durability, o.Force = 2, mem, dataset.DurableNone, true
				was, now := tinyModel(1, 2), tinyModel(2, 2)
				was.writeTo(t, mem, &o)
				r := need(read.OpenWith(t.Context(), "d.nc", &read.OpenOptions{MaxOpen: open, Workers: 1, Verify: read.VerifyOnce}, dataset.Knobs{Fs: mem}))
				f := need(r.Canonical(nil))
				want := was.canonical(false)
				early := make([]byte, len(want)/3)
				need(f.ReadAt(early, 0))
				if removed {
					for name := range memFiles(t, mem) {
						must(mem.Remove(name))
					}
				} else {
					now.writeTo(t, mem, &o)
				}
				rnd, failed := rand.New(rand.NewPCG(9, uint64(open))), 0
				for range 200 {
					off := rnd.Int64N(f.Size())
					b := make([]byte, min(1+rnd.Int64N(40), f.Size()-off))
					n, err := f.ReadAt(b, off)
					if !bytes.Equal(b[:n], want[off:off+int64(n)]) {
						t.Fatalf("%v %v, %d open: %d bytes at %d are others than those of the dataset that was opened", o.Layout, o.Compress, open, n, off)
					}
					switch {
					case err == nil && n < len(b):
						t.Fatalf("%d of %d bytes at %d, and no error", n, len(b), off)
					case err != nil && !removed && !errors.Is(err, dataset.ErrBroken), err != nil && removed && !errors.Is(err, dataset.ErrMissing) && !errors.Is(err, fs.ErrNotExist):
						t.Fatalf("%v %v, %d open: %v", o.Layout, o.Compress, open, err)
					case err != nil:
						failed++
					}
				}
				if failed == 0 && open == 1 && removed {
					t.Errorf("%v %v: no file is there, and each read goes", o.Layout, o.Compress)
				}
				must(r.Close())
			}
		}
	}
}

// TestStaleWhileOpen checks a reader with an open subfile that a file server reports as stale. The error is ErrBroken if the
// dataset was replaced, and ErrStale otherwise.
func TestStaleWhileOpen(t *testing.T) {
	for _, o := range []dataset.Settings{{}, {Options: dataset.Options{Layout: dataset.ProcessCentric}}, {Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.Zstd}}}} {
		for _, replaced := range []bool{true, false} {
			mem := vfs.NewMem()
			o.Fs, o.Durability, o.Force = mem, dataset.DurableNone, true
			was := tinyModel(1, 2)
			was.writeTo(t, mem, &o)
			stale := false
			r := need(read.OpenWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: vfs.NewFault(mem, func(op vfs.Op) error {
				if stale && op.Kind == vfs.OpRead && op.Name == "d.nc.0000" {
					return &fs.PathError{Op: "read", Path: op.Name, Err: vfs.ErrStale}
				}
				return nil
			})}))
			if replaced {
				tinyModel(2, 2).writeTo(t, mem, &o)
			}
			stale = true
			want := vfs.ErrStale
			if replaced {
				want = dataset.ErrBroken
			}
			if err := r.Read(t.Context(), "time", nil, nil, make([]float64, 2)); !errors.Is(err, want) {
				t.Errorf("%v %v, replaced %v: %v", o.Layout, o.Compress, replaced, err)
			}
			must(r.Close())
		}
	}
}

// TestOpenTells checks Open on a file system that other machines write to. If a dataset seems to be stale or unfinished, Open
// tries again. Any other error of the file system is returned.
func TestOpenTells(t *testing.T) {
	mem := vfs.NewMem()
	m := tinyModel(1, 2)
	m.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	for _, class := range []error{errDisk, vfs.ErrStale} {
		failed := false
		r, err := read.OpenWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: farFS{vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && op.Name == "d.nc.0000" && op.Off == 0 && op.N > 8 && !failed {
				failed = true
				return &fs.PathError{Op: "read", Path: op.Name, Err: class}
			}
			return nil
		})}})
		if r != nil {
			must(r.Close())
		}
		if !failed || (err == nil) != (class == vfs.ErrStale) || err != nil && !errors.Is(err, class) {
			t.Errorf("%v: %v, %v", class, failed, err)
		}
	}
}

// grownFS is a client that sees outdated sizes of subfiles for some calls.
type grownFS struct {
	farFS
	looks map[string]int // remaining calls with an outdated size, by name
	mu    *sync.Mutex
}

type grownFile struct {
	vfs.File
	in grownFS
}

func (g grownFS) Open(name string) (vfs.File, error) {
	f, err := g.farFS.Open(name)
	if err != nil {
		return nil, err
	}
	return grownFile{f, g}, nil
}

func (f grownFile) Size() (int64, error) {
	n, err := f.File.Size()
	f.in.mu.Lock()
	defer f.in.mu.Unlock()
	if name := f.Name(); f.in.looks[name] > 0 {
		f.in.looks[name]--
		n -= 4
	}
	return n, err
}

// TestGrown checks a subfile that seems to be shorter than the manifest says, on a file system that other machines write to.
// Readers examine the subfile again. If it stays short, Open, reads and Check must still end.
func TestGrown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		looks int
		names []string
		want  error
	}{
		{4, []string{"d.nc.0001"}, nil},
		{4, []string{"d.nc.0000", "d.nc.0001"}, nil},
		{1000, []string{"d.nc.0000", "d.nc.0001"}, dataset.ErrTruncated},
	} {
		t.Run(fmt.Sprint(c.looks, len(c.names)), func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewMem()
			m := tinyModel(1, 2)
			m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}})
			client := func() vfs.FS {
				g := grownFS{farFS{mem}, map[string]int{}, new(sync.Mutex)}
				for _, name := range c.names {
					g.looks[name] = c.looks
				}
				return g
			}
			if got, err := canonicalOf(client(), "d.nc"); !errors.Is(err, c.want) || err == nil && !bytes.Equal(got, m.canonical(false)) {
				t.Errorf("read: %v", err)
			}
			var found error
			for f := range check.CheckWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: client()}) {
				found = errors.Join(found, f.Err)
			}
			if !errors.Is(found, c.want) {
				t.Errorf("check: %v", found)
			}
		})
	}
}
