package redset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// on gives one rank another file system.
func (cl *cluster) on(rank int, fsys vfs.FS) func(int) vfs.FS {
	return func(r int) vfs.FS {
		if r == rank {
			return fsys
		}
		return cl.fs
	}
}

// noRedundancy fails the test if a rank has a redundancy file or a part of a redundancy file.
func noRedundancy(t *testing.T, what string, cl *cluster) {
	t.Helper()
	for name := range fromMem(t, cl.fs, ".") {
		if strings.Contains(name, ".grp_") || durable.IsTemp(name) {
			t.Errorf("%s: %s is there", what, name)
		}
	}
}

// isPayload reports whether a file is, or will be renamed to, the redundancy file of rank 1, in sets of 2 or of 4 members.
func isPayload(name string) bool {
	return name == durable.TempName("n1/rs.1.xor.grp_1_of_2.mem_2_of_2.redset", writer) || name == durable.TempName("n1/rs.1.xor.grp_1_of_1.mem_2_of_4.redset", writer)
}

// TestEncodeNotices makes Encode fail because a file changes, cannot be read, or is not completely written. All ranks must get the
// cause, and afterwards no rank may have a redundancy file.
func TestEncodeNotices(t *testing.T) {
	for what, hook := range map[string]func(m vfs.FS, op vfs.Op) error{
		"later, of the same size": func(m vfs.FS, op vfs.Op) error {
			if op.Kind != vfs.OpRead || !strings.HasSuffix(op.Name, "n1/f0") {
				return nil
			}
			meta, err := vfs.MetaOf(m, op.Name)
			meta.Mtime = meta.Mtime.Add(time.Hour)
			return errors.Join(err, vfs.SetMeta(m, op.Name, meta))
		},
		"not readable": func(_ vfs.FS, op vfs.Op) error {
			if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, "n1/f0") {
				return errDied
			}
			return nil
		},
		"not synced": func(_ vfs.FS, op vfs.Op) error {
			if op.Kind == vfs.OpSync && isPayload(op.Name) {
				return errDied
			}
			return nil
		},
		"not closed": func(_ vfs.FS, op vfs.Op) error {
			if op.Kind == vfs.OpClose && isPayload(op.Name) {
				return errDied
			}
			return nil
		},
	} {
		for _, size := range []int{2, 4} { // two sets, or one set
			cl := newCluster(t, Options{Scheme: XOR, SetSize: size}, even[:4])
			fsys := cl.on(1, vfs.NewFault(cl.fs, func(op vfs.Op) error { return hook(cl.fs, op) }))
			err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
				s, err := New(ctx, c, cl.o)
				must(t, err)
				r := c.Rank()
				if err := s.Encode(ctx, fsys(r), cl.files[r], fmt.Sprintf("n%d/rs.", r)); err == nil || errors.Is(err, comm.ErrBroken) || strings.HasPrefix(what, "not ") && !strings.Contains(err.Error(), errDied.Error()) {
					t.Errorf("%s, sets of %d: rank %d: %v", what, size, r, err)
				}
				return c.Barrier(ctx)
			})
			if err != nil {
				t.Errorf("%s, sets of %d: %v", what, size, err)
			}
			noRedundancy(t, what, cl)
		}
	}
}

// TestRecoverDurable checks that the files that Recover rebuilt survive a power loss.
func TestRecoverDurable(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		must(t, cl.encode("shared", cl.own))
		whole := fromMem(t, cl.fs, ".")
		cl.lose(t, 1) // removes the directory too
		cl.fs = afterCut(t, cl.fs)
		if _, err := cl.recover("shared", cl.own); err != nil {
			t.Fatal(err)
		}
		same(t, fromMem(t, cl.fs.(*vfs.Mem).CrashClone(vfs.CrashOptions{}), "."), whole)
	}
}

// TestRecoverLeavesNothing checks that rebuilt files that are not renamed are removed.
func TestRecoverLeavesNothing(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:4])
	must(t, cl.encode("shared", cl.own))
	cl.lose(t, 1)
	fail := vfs.NewFault(cl.fs, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename {
			return errDied
		}
		return nil
	})
	if _, err := cl.recover("shared", cl.on(1, fail)); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	for name := range fromMem(t, cl.fs, ".") {
		if durable.IsTemp(name) {
			t.Errorf("%s is left", name)
		}
	}
}

// TestLostInAnotherSet checks that the ranks of all sets get the same error if one set is lost.
func TestLostInAnotherSet(t *testing.T) {
	for _, mode := range []string{"shared", "isolated"} {
		cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:8])
		must(t, cl.encode("shared", cl.own))
		set := map[int]bool{}
		for _, r := range Form(XOR, make([]string, 8), 4)[7].Ranks {
			set[r] = true
			for _, name := range cl.files[r] {
				must(t, cl.fs.Remove(name))
			}
		}
		if set[0] {
			t.Fatal("rank 0 is in the set")
		}
		err := cl.run(mode, func(ctx context.Context, c comm.Comm) error {
			r := c.Rank()
			_, err := Recover(ctx, c, cl.fs, fmt.Sprintf("n%d/rs.", r), nil)
			if lost := (*LostError)(nil); !errors.As(err, &lost) || len(lost.Ranks) == 0 || !set[lost.Ranks[0]] {
				t.Errorf("%s: rank %d: %v", mode, r, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestDamageWhileRecovering damages a file while it is being rebuilt from its good parts. The result must be an error or a good
// file.
func TestDamageWhileRecovering(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, [][]int{{1200}, {1200}, {1200}, {1200}})
	must(t, cl.encode("shared", cl.own))
	whole := fromMem(t, cl.fs, ".")["n1/f0"]
	flip(t, cl.fs, "n1/f0", 5)
	start, refused := cl.fs, 0
	for n := 1; ; n++ {
		cl.fs = copyFS(t, start)
		reads := 0
		_, err := cl.recover("isolated", cl.on(1, vfs.NewFault(cl.fs, func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && op.Name == "n1/f0" {
				if reads++; reads == n {
					flip(t, cl.fs, "n1/f0", 1100)
				}
			}
			return nil
		})))
		if reads < n {
			break
		}
		if err != nil {
			refused++
		} else if got := fromMem(t, cl.fs, ".")["n1/f0"]; !bytes.Equal(got, whole) {
			t.Errorf("read %d: the file is not what it was", n)
		}
	}
	if refused == 0 {
		t.Error("it was never noticed: the test does not see the second reading")
	}
}
