package redset

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// hugeFS says that files are larger than any set may be.
type hugeFS struct{ vfs.FS }

func (h hugeFS) FileMeta(name string) (vfs.Meta, error) {
	m, err := vfs.MetaOf(h.FS, name)
	m.Size = maxBytes + 1
	return m, err
}

func (h hugeFS) SetFileMeta(name string, m vfs.Meta) error { return vfs.SetMeta(h.FS, name, m) }

// TestOneSetFails: what only one set finds wrong is an error on the ranks of all sets.
func TestOneSetFails(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 2}, [][]int{{10}, {10}, {10}, {10}})
	err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
		s, err := New(ctx, c, cl.o)
		must(t, err)
		fsys := cl.fs
		if c.Rank() == 0 {
			fsys = hugeFS{cl.fs}
		}
		err = s.Encode(ctx, fsys, cl.files[c.Rank()], fmt.Sprintf("n%d/rs.", c.Rank()))
		if err == nil || errors.Is(err, comm.ErrBroken) {
			t.Errorf("rank %d: %v", c.Rank(), err)
		}
		return c.Barrier(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}
