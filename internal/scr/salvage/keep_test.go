package salvage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand"
	"path"
	"slices"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
	"blobio/scr"
)

var errKilled = errors.New("the power is cut")

// TestKeepsCrash scavenges and rebuilds a dataset that overwrites files of another dataset or has its name. It cuts the power
// before each operation. Even if the caches are lost too, the next run must find one of the two datasets with its own bytes.
// If the caches exist, another attempt must restore the newer dataset.
func TestKeepsCrash(t *testing.T) {
	for _, c := range crashtest.Some(t, 2, []struct {
		what, redundancy, name string
		up                     []string // nodes
	}{
		{"files", "SINGLE", "ckpt.%d", []string{"a", "b"}},
		{"files, of which some are rebuilt", "XOR", "ckpt.%d", []string{"b"}},
		{"files and name", "SINGLE", "ckpt", []string{"a", "b"}},
	}) {
		t.Run(c.what, func(t *testing.T) {
			nodes := []string{"a", "b"}
			j := newJob(t, "SCR_COPY_TYPE="+c.redundancy, "SCR_SET_SIZE=2", "SCR_FLUSH=1", "SCR_CACHE_SIZE=4")
			name := func(n int) string {
				return string(bytes.ReplaceAll([]byte(c.name), []byte("%d"), []byte(fmt.Sprint(n))))
			}
			files := func(n, rank int) []string {
				return []string{fmt.Sprint("state.", rank), fmt.Sprintf("own.%d.%d", n, rank)}
			}
			content := func(n, rank, i int) []byte { return bytes.Repeat([]byte{byte(n), byte(rank), byte(i)}, 300) }
			take := func(s *scr.Session, ctx context.Context, n, rank int) error {
				if err := s.Start(ctx, name(n), scr.Checkpoint); err != nil {
					return err
				}
				for i, f := range files(n, rank) {
					at, err := s.Route(f)
					if err == nil {
						err = vfs.WriteFile(j.fs, at, content(n, rank, i))
					}
					if err != nil {
						return err
					}
				}
				return s.Complete(ctx, true)
			}
			if err := j.run(t, nodes, func(ctx context.Context, s *scr.Session, rank int) error {
				return errors.Join(take(s, ctx, 1, rank), s.Close(ctx))
			}); err != nil {
				t.Fatal(err)
			}
			// Remove the caches of the first run, because a cached dataset does not replace another dataset with its name.
			for _, n := range nodes {
				wipe(t, j.fs, "/nodes/"+n)
			}
			j.env = append(j.env, "SCR_FLUSH=0")
			if err := j.run(t, nodes, func(ctx context.Context, s *scr.Session, rank int) error {
				return errors.Join(take(s, ctx, 2, rank), errCrash)
			}); !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			quiet := func(fsys vfs.FS) *prefixdir.Dir {
				d := prefixdir.Open(fsys, simPrefix)
				d.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
				return d
			}
			save := func(fsys vfs.FS) error {
				for _, n := range c.up {
					if _, err := salvage.Scavenge(t.Context(), salvage.ScavengeOptions{Node: j.nodeOn(fsys, n), Prefix: quiet(fsys), ID: 2, Workers: 1}); err != nil {
						return err
					}
				}
				_, err := salvage.Index(t.Context(), salvage.Options{Prefix: quiet(fsys), ID: 2, Current: true})
				return err
			}
			// restart returns the number of the checkpoint from which the next run restarts.
			restart := func(m *vfs.Mem) (got int, err error) {
				next := *j
				next.fs = m
				for _, n := range nodes {
					wipe(t, m, "/nodes/"+n)
				}
				err = next.run(t, nodes, func(ctx context.Context, s *scr.Session, rank int) error {
					r, ok, err := s.HaveRestart(ctx)
					if err != nil || !ok {
						return errors.Join(err, errors.New("nothing to start from"))
					}
					if rank == 0 {
						got = r.ID
					}
					if _, err := s.StartRestart(ctx); err != nil {
						return err
					}
					for i, f := range files(r.ID, rank) {
						at, err := s.Route(f)
						if err != nil {
							return err
						}
						if b, err := vfs.ReadFile(m, at, 1<<20); err != nil || !bytes.Equal(b, content(r.ID, rank, i)) {
							return fmt.Errorf("checkpoint %d, rank %d, file %d: wrong bytes, %v", r.ID, rank, i, err)
						}
					}
					return s.CompleteRestart(ctx, true)
				})
				return got, err
			}
			for rank := range 4 { // files that a killed writer left
				for _, f := range files(2, rank) {
					if err := vfs.WriteFile(j.fs, prefixdir.Hidden(path.Join(simPrefix, f)), make([]byte, 900)); err != nil {
						t.Fatal(err)
					}
				}
			}
			syncTree(t, j.fs, "/")
			start := j.fs.CrashClone(vfs.CrashOptions{})
			whole := start.CrashClone(vfs.CrashOptions{})
			if err := save(whole); err != nil {
				t.Fatal(err)
			}
			if list, err := whole.ReadDir(simPrefix); err != nil || hasHidden(list) {
				t.Errorf("hidden files are left: %v, %v", list, err)
			}
			if got, err := restart(whole); got != 2 || err != nil {
				t.Fatalf("begins at %d: %v", got, err)
			}
			sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Every: crashtest.Times(13, 1), Only: func(op vfs.Op) bool { return op.Kind.Changes() }, Run: crashtest.One(save)}
			for f := range sc.Faults(t, crashtest.Dies(errKilled)) {
				for seed := range crashtest.Times[int64](2, 3) {
					o := vfs.CrashOptions{}
					if seed > 0 {
						o.Rand = rand.New(rand.NewSource(seed))
					}
					left := f.Mem[0].CrashClone(o)
					again := left.CrashClone(vfs.CrashOptions{})
					if got, err := restart(left); err != nil {
						t.Fatalf("operation %d, seed %d: the next run begins at %d: %v", f.N, seed, got, err)
					}
					if err := save(again); err != nil {
						t.Fatalf("operation %d, seed %d, again: %v", f.N, seed, err)
					}
					if got, err := restart(again); got != 2 || err != nil {
						t.Fatalf("operation %d, seed %d, again: the next run begins at %d: %v", f.N, seed, got, err)
					}
				}
			}
		})
	}
}

func hasHidden(list []fs.DirEntry) bool {
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool { return prefixdir.IsHidden(e.Name()) })
}

func wipe(t *testing.T, m *vfs.Mem, dir string) {
	t.Helper()
	list, err := m.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			wipe(t, m, name)
		}
		if err := m.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// syncTree makes all files below a folder durable.
func syncTree(t *testing.T, m *vfs.Mem, dir string) {
	t.Helper()
	list, err := m.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			syncTree(t, m, name)
			continue
		}
		f, err := m.OpenRW(name)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}
