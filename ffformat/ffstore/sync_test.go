package ffstore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestDigestsAreDurable: the digests that a checkpoint appends to the side files survive a later power loss, so that the next
// checkpoint is not full.
func TestDigestsAreDurable(t *testing.T) {
	mem := vfs.NewMem()
	m := mode{ranks: 3, diff: true}
	m.steps(t, mem, 1, 4)
	after := mem.CrashClone(vfs.CrashOptions{})
	if err := m.run(after, func(ctx context.Context, c comm.Comm, s *Store) error {
		st, err := m.step(ctx, c, s, 5)
		if err == nil && st.Dirty >= st.Blocks {
			err = fmt.Errorf("%+v: nothing was spared", st)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestDirectoryNotShared: ranks get an error if each node has its own directory under the name of the store's directory.
func TestDirectoryNotShared(t *testing.T) {
	mem := vfs.NewMem()
	must(t, mem.Mkdir("n1"))
	must(t, mem.Mkdir("n1/d"))
	err := comm.Run(context.Background(), 2, &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		var fsys vfs.FS = mem
		if c.Rank() == 1 {
			fsys = vfs.NewBind(mem, []vfs.Bind{{At: "d", To: "n1/d"}})
		}
		s, err := Open(ctx, c, "d", mode{}.options(fsys))
		must(t, err)
		s.Protect(1, make([]byte, 100))
		_, err = s.Checkpoint(ctx, 1)
		if err == nil || !strings.Contains(err.Error(), "all ranks must share the directory") {
			return fmt.Errorf("rank %d: %v", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
