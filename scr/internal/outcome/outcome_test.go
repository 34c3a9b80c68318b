package outcome

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

// TestExchange checks that rank 0 gets the files of every rank, or the error of a rank with its class. The ranks are in one or in
// several processes. Afterwards no file may be left. When the context ends, a wait for a missing rank must end.
func TestExchange(t *testing.T) {
	const id, ranks = 7, 3
	for _, isolated := range []bool{false, true} {
		for _, bad := range []int{-1, 0, 2} {
			t.Run(fmt.Sprintf("isolated=%v bad=%d", isolated, bad), func(t *testing.T) {
				mem := vfs.NewMem()
				dir := prefixdir.Open(mem, "/p")
				if err := mem.MkdirAll(dir.Datasets.Dir(id)); err != nil {
					t.Fatal(err)
				}
				err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
					if isolated {
						c = commtest.Isolate(c)
					}
					x, err := New(ctx, c, mem, dir)
					if err != nil {
						return err
					}
					if isolated != (x.Head() == c.Rank()) && c.Rank() != 0 {
						t.Errorf("rank %d: lowest rank of the process %d", c.Rank(), x.Head())
					}
					if c.Rank() == 0 { // a file left by a crashed run
						if err := vfs.WriteFile(mem, x.partFile(id, x.heads[len(x.heads)-1]), []byte("old")); err != nil {
							return err
						}
						if err := x.Reset(id); err != nil {
							return err
						}
					}
					if err := c.Barrier(ctx); err != nil {
						return err
					}
					var lost error
					if c.Rank() == bad {
						lost = fmt.Errorf("disk: %w", fault.ErrChecksum)
					}
					x.Deliver(id, []prefixdir.File{{Path: fmt.Sprint("f.", c.Rank()), Size: 1, HasSize: true}}, lost)
					if c.Rank() != 0 {
						if x.Head() == c.Rank() {
							return x.Post(ctx, id)
						}
						return nil
					}
					parts, err := x.All(ctx, id)
					x.Remove(id)
					if bad >= 0 {
						if !errors.Is(err, fault.ErrChecksum) {
							t.Errorf("%v", err)
						}
						return nil
					}
					if err != nil {
						return err
					}
					for r, b := range parts {
						tree, err := kvtree.Unpack(b, nil)
						if err != nil {
							return err
						}
						files, err := prefixdir.ParseFiles(tree, "")
						if err != nil || len(files) != 1 || files[0].Path != fmt.Sprint("f.", r) {
							t.Errorf("rank %d: %v, %v", r, files, err)
						}
					}
					gone, cancel := context.WithCancel(ctx)
					cancel()
					if _, err := x.All(gone, id+1); !errors.Is(err, context.Canceled) {
						t.Errorf("nobody has delivered: %v", err)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if list, err := mem.ReadDir(dir.Datasets.Dir(id)); bad < 0 && (err != nil || len(list) != 0) {
					t.Errorf("left: %v, %v", list, err)
				}
			})
		}
	}
}
