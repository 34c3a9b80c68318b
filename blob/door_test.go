package blob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// busyFS returns an error for a rename of an open file, like Windows.
type busyFS struct {
	vfs.FS
	mu   sync.Mutex
	open map[string]int
}

type busyFile struct {
	vfs.File
	fs *busyFS
}

func (b *busyFS) count(name string, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[name] += n
	return b.open[name]
}

func (b *busyFS) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	b.count(f.Name(), 1)
	return &busyFile{f, b}, nil
}

func (b *busyFS) Create(name string) (vfs.File, error) { return b.file(b.FS.Create(name)) }
func (b *busyFS) Open(name string) (vfs.File, error)   { return b.file(b.FS.Open(name)) }
func (b *busyFS) OpenRW(name string) (vfs.File, error) { return b.file(b.FS.OpenRW(name)) }

func (b *busyFS) Rename(from, to string) error {
	if b.count(from, 0)+b.count(to, 0) > 0 {
		return fmt.Errorf("rename %s to %s: it is open", from, to)
	}
	return b.FS.Rename(from, to)
}

func (f *busyFile) Lock(bool) error { return vfs.ErrNoLocks }
func (f *busyFile) Close() error {
	f.fs.count(f.Name(), -1)
	return f.File.Close()
}

// TestCommitOfClosed checks that no subfile is open when a commit renames it.
func TestCommitOfClosed(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, method := range []dataset.Method{dataset.NoCompression, dataset.Zstd} {
			for _, apart := range []bool{false, true} {
				if layout == dataset.VariableCentric && method != dataset.NoCompression {
					continue
				}
				m := tinyModel(1, 1)
				fsys := &busyFS{FS: vfs.NewMem(), open: map[string]int{}}
				o := &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Records: 1, Compress: dataset.Compress{Method: method}}, Knobs: dataset.Knobs{Fs: fsys}}
				err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
					c = isolateIf(c, apart)
					w := need(write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o))
					for range 2 {
						must(errors.Join(m.putRecord(w, 0, c.Rank(), true), w.Flush(ctx)))
					}
					return w.Close(ctx)
				})
				if err != nil {
					t.Errorf("%v, %v, apart %v: %v", layout, method, apart, err)
				}
			}
		}
	}
}

// TestForeignLocks checks that blobio does not take other programs' hidden files with names ending in .lock for leases.
func TestForeignLocks(t *testing.T) {
	mem := vfs.NewMem()
	for name, text := range map[string]string{".hugo_build.lock": "", ".other.lock": "4711\n", ".json.lock": "{}"} {
		must(vfs.WriteFile(mem, name, []byte(text)))
	}
	l := need(durable.Acquire(context.Background(), mem, "d.nc", durable.LeaseOptions{}))
	if names, err := resume.UnfinishedIn(mem, "."); err != nil || fmt.Sprint(names) != "[d.nc]" {
		t.Errorf("%v %v", names, err)
	}
	must(l.Release())
}
