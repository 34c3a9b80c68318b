package fti

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// ftiRun is a file system with a checkpoint of FTI at level 2 or 3.
func ftiRun(t *testing.T, level, id int, more string) *vfs.Mem {
	m := disk(t, "")
	text := strings.NewReplacer("Failure = 0", "Failure = 1", "NONE", "run").Replace(fmt.Sprintf(template, more))
	must(t, m.Remove("config"))
	must(t, vfs.WriteFile(m, "config", []byte(text)))
	for rank := range ranks {
		dir := fmt.Sprintf("Local/node%d/run/l%d", rank, level)
		must(t, m.MkdirAll(dir))
		for _, k := range []kind{ckpt, backupOf(level)} {
			name := fmt.Sprintf("Ckpt%d-%s%d.fti", id, k, rank)
			b, err := os.ReadFile(fmt.Sprintf("../../testdata/fti/tiny/head/l%d-4ranks/cp%d__node%d-%s", level, id, rank, name))
			must(t, err)
			must(t, vfs.WriteFile(m, filepath.Join(dir, name), b))
		}
	}
	return m
}

// TestRebuiltKeepsBackup: after a damaged file was rebuilt, the checkpoint still survives the loss of another node.
func TestRebuiltKeepsBackup(t *testing.T) {
	for level := 2; level <= 3; level++ {
		m := disk(t, "")
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, level) }))
		for _, n := range []int{1, 2} {
			flip(t, m, fmt.Sprintf("Local/node%d/*/l%d/Ckpt1-Rank%d.fti", n, level, n))
			if level == 2 {
				break
			}
		}
		for _, lost := range []string{"", "Local/node0"} {
			if lost != "" {
				must(t, vfs.RemoveAll(m, lost))
			}
			if level == 3 && lost != "" {
				must(t, vfs.RemoveAll(m, "Local/node3"))
			}
			if got, err := stepOf(m); err != nil || got != 1 {
				t.Errorf("level %d, %s lost: step %d, %v", level, lost, got, err)
			}
		}
	}
}

// TestStrayBackup: copies and parity in directories of other levels do no harm.
func TestStrayBackup(t *testing.T) {
	for _, stray := range []string{"l1/Ckpt6-Pcof0.fti", "l2/Ckpt6-RSed0.fti", "l3/Ckpt6-Pcof0.fti"} {
		m := ftiRun(t, 3, 6, "")
		b, err := vfs.ReadFile(m, "Local/node0/run/l3/Ckpt6-RSed0.fti", 1<<20)
		must(t, err)
		must(t, m.MkdirAll(filepath.Dir("Local/node0/run/"+stray)))
		must(t, vfs.WriteFile(m, "Local/node0/run/"+stray, b))
		must(t, job(m, func(context.Context, comm.Comm, *Session) error { return nil }))
	}
}

// TestKeepOfFTI: the last checkpoint of FTI is kept at level 4.
func TestKeepOfFTI(t *testing.T) {
	for level := 2; level <= 3; level++ {
		m := ftiRun(t, level, 6, "keep_last_ckpt = 1")
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return s.Close(ctx) }))
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
			if s.last.Level != levels || s.last.ID != 6 {
				return fmt.Errorf("%v", s.last.key)
			}
			return nil
		}))
	}
}

// TestOtherGroups: a restart with other groups is refused while there are copies or parity of the former groups.
func TestOtherGroups(t *testing.T) {
	for level := 1; level <= levels; level++ {
		m := disk(t, "")
		must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, level) }))
		regroup := func(from, to string) {
			text, err := vfs.ReadFile(m, "config", 1<<20)
			must(t, err)
			must(t, m.Remove("config"))
			must(t, vfs.WriteFile(m, "config", []byte(strings.Replace(string(text), "Group_size = "+from, "Group_size = "+to, 1))))
		}
		regroup("4", "2")
		if level == 1 || level == 4 {
			must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return write(ctx, c, s, 1, 1, 2) }))
		}
		must(t, vfs.RemoveAll(m, "Local/node3"))
		if got, err := stepOf(m); level == 2 || level == 3 {
			if !errors.Is(err, fault.ErrUsage) || !strings.Contains(err.Error(), "other groups") {
				t.Errorf("level %d: %v", level, err)
			}
			regroup("2", "4")
			if got, err = stepOf(m); err != nil || got != 1 {
				t.Errorf("level %d, former groups: step %d, %v", level, got, err)
			}
		} else if err != nil || got != 1 {
			t.Errorf("level %d: step %d, %v", level, got, err)
		}
	}
}

// TestFaultsOfRestart: an operation fails in a restart that rebuilds files. The restart fails or takes an older checkpoint, but
// later checkpoints are newer in any case.
func TestFaultsOfRestart(t *testing.T) {
	failed := errors.New("the disk says no")
	for name, lost := range crashtest.SomeOf(t, 2, map[string]string{"files": "", "copies": "Pcof", "parity": "RSed"}) {
		for _, level := range []int{2, 3} {
			if lost != "" && string(backupOf(level)) != lost {
				continue
			}
			t.Run(fmt.Sprint(name, level), func(t *testing.T) {
				t.Parallel()
				m := disk(t, "")
				must(t, job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
					return errors.Join(write(ctx, c, s, 1, 1, 4), write(ctx, c, s, 2, 2, level))
				}))
				must(t, loseBackups(m, lost))
				var done atomic.Int64
				sc := crashtest.Scenario{
					Start: []*vfs.Mem{m}, Every: crashtest.Times(25, 1), Seed: int64(level),
					Always: func(op vfs.Op) bool { return op.Kind == vfs.OpRename },
					Run: crashtest.One(func(fsys vfs.FS) error {
						done.Store(0)
						return job(fsys, func(ctx context.Context, c comm.Comm, s *Session) error {
							for step := 10; step < 12; step++ {
								if err := write(ctx, c, s, step, int32(step), 1); err == nil && c.Rank() == 0 {
									done.Store(int64(step))
								}
							}
							return nil
						})
					}),
				}
				for f := range sc.Faults(t, crashtest.Fails(failed)) {
					got, err := stepOf(f.Mem[0])
					if want := int(done.Load()); err != nil || got < want {
						t.Errorf("%s: step %d was done, restart after step %d, %v", f.When, want, got, err)
					}
				}
			})
		}
	}
}

// loseBackups removes the backup of rank 2, or the directory of node 1.
func loseBackups(m *vfs.Mem, kind string) error {
	if kind == "" {
		return errors.Join(vfs.RemoveAll(m, "Local/node1"), m.SyncDir("Local"))
	}
	dir, err := m.ReadDir("Local/node2")
	if err != nil {
		return err
	}
	for _, level := range []string{"l2", "l3"} {
		at := filepath.Join("Local/node2", dir[0].Name(), level)
		list, _ := m.ReadDir(at)
		for _, e := range list {
			if strings.Contains(e.Name(), kind) {
				if err := m.Remove(filepath.Join(at, e.Name())); err != nil {
					return err
				}
			}
		}
		_ = m.SyncDir(at)
	}
	return nil
}

// TestMixed: a damaged checkpoint, whose commit was interrupted, has the level and id of a checkpoint of FTI. The restart does not mix
// their files.
func TestMixed(t *testing.T) {
	for level := 2; level <= 4; level += 2 {
		m := ftiRun(t, 2, 6, "")
		name := func(rank int, k kind) string {
			if level == 4 {
				return fmt.Sprintf("Global/run/l4/Ckpt6-%s%d.fti", k, rank)
			}
			return fmt.Sprintf("Local/node%d/run/l2/Ckpt6-%s%d.fti", rank, k, rank)
		}
		kinds := []kind{ckpt, copied}[:max(1, 3-level/2)]
		of := map[string][]byte{} // files of FTI
		for rank := range ranks {
			for _, k := range kinds {
				b, err := vfs.ReadFile(m, fmt.Sprintf("Local/node%d/run/l2/Ckpt6-%s%d.fti", rank, k, rank), 1<<20)
				must(t, err)
				of[name(rank, k)] = b
			}
			must(t, vfs.RemoveAll(m, fmt.Sprintf("Local/node%d", rank)))
		}
		stamp := make([]uint32, ranks)
		err := job(m, func(ctx context.Context, c comm.Comm, s *Session) error { return nil })
		if !errors.Is(err, ErrNothing) {
			t.Fatal(err)
		}
		must(t, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			s, err := Open(ctx, c, "config", &Options{FS: m})
			if !errors.Is(err, ErrNothing) {
				return err
			}
			err = write(ctx, c, s, 6, 6, level)
			stamp[c.Rank()] = s.last.Stamp
			return errors.Join(err, s.release())
		}))
		for rank := 1; rank < ranks; rank++ { // rank 0 has published
			for _, k := range kinds {
				at := name(rank, k)
				b, err := vfs.ReadFile(m, at, 1<<20)
				must(t, err)
				if rank == 2 || rank == 3 && k == copied {
					b[900]++
				}
				must(t, m.Remove(at))
				must(t, vfs.WriteFile(m, at, of[at]))
				must(t, vfs.WriteFile(m, filepath.Join(filepath.Dir(at), fmt.Sprintf(".%s.%08x.new", filepath.Base(at), stamp[0])), b))
			}
		}
		err = job(m, func(ctx context.Context, c comm.Comm, s *Session) error {
			if x := stampOf(s.last.stored.r.File()); x != 0 {
				return fmt.Errorf("rank %d has the stamp %#x", c.Rank(), x)
			}
			return nil
		})
		if level == 2 && err != nil || level == 4 && !errors.Is(err, ErrNothing) { // at level 2 FTI's file of rank 0 has a copy
			t.Errorf("level %d: %v", level, err)
		}
	}
}

// TestCommitError: a rank that cannot read a directory of another level fails the checkpoint of level 1 on all ranks.
func TestCommitError(t *testing.T) {
	m, failed := disk(t, ""), errors.New("the disk says no")
	var bad atomic.Bool
	fsys := vfs.NewFault(m, func(op vfs.Op) error {
		if bad.Load() && op.Kind == vfs.OpReadDir && strings.Contains(op.Name, "node2") && strings.HasSuffix(op.Name, "l2") {
			return failed
		}
		return nil
	})
	must(t, job(fsys, func(ctx context.Context, c comm.Comm, s *Session) error {
		if err := errors.Join(write(ctx, c, s, 1, 1, 2), c.Barrier(ctx)); err != nil {
			return err
		}
		bad.Store(true)
		if err := write(ctx, c, s, 2, 2, 1); !errors.Is(err, failed) || !strings.Contains(err.Error(), "rank 2") {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		bad.Store(false)
		return write(ctx, c, s, 3, 3, 1)
	}))
}
