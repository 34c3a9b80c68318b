package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"path/filepath"
	"testing"

	"blobio/comm"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// joined is several disks as one file system: the first element of a path is the disk.
type joined struct {
	vfs.FS
	disks []vfs.FS
}

func (j joined) of(name string) (vfs.FS, string) {
	var k int
	fmt.Sscanf(filepath.ToSlash(name), "n%d/", &k)
	return j.disks[k], name[len(fmt.Sprintf("n%d/", k)):]
}

func (j joined) Create(name string) (vfs.File, error) { d, n := j.of(name); return d.Create(n) }
func (j joined) Open(name string) (vfs.File, error)   { d, n := j.of(name); return d.Open(n) }
func (j joined) Remove(name string) error             { d, n := j.of(name); return d.Remove(n) }
func (j joined) SyncDir(name string) error            { d, n := j.of(name); return d.SyncDir(n) }
func (j joined) Rename(a, b string) error {
	d, a := j.of(a)
	_, b = j.of(b)
	return d.Rename(a, b)
}
func (j joined) Stat(name string) (fs.FileInfo, error)      { d, n := j.of(name); return d.Stat(n) }
func (j joined) ReadDir(name string) ([]fs.DirEntry, error) { d, n := j.of(name); return d.ReadDir(n) }

// V12 of View.Drop: the power is cut before every operation of it, and every one fails once. The versions that stay are whole, and the one that goes is
// there, whole, or is not.
func TestViewDropCrash(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		base := nodesOf(t, nodes)
		if err := comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			st := &Store{Dir: "d", FS: base[c.Rank()/2%nodes], Private: nodes > 1, Copies: nodes - 1}
			return story(ctx, c, st, nil, func(int64) {})
		}); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewSource(int64(nodes)))
		clone := func(from []*vfs.Mem, o vfs.CrashOptions) (out []*vfs.Mem) {
			for _, m := range from {
				out = append(out, m.CrashClone(o))
			}
			return out
		}
		var dirs []string
		for k := range nodes {
			dirs = append(dirs, fmt.Sprintf("n%d/d/a", k))
		}
		drop := func(disks []vfs.FS) error {
			v, err := OpenView(dirs, &ViewOptions{FS: joined{disks: disks}})
			if err != nil {
				return err
			}
			return errors.Join(v.Drop(bg, storySteps-1), v.Close())
		}
		sound := func(disks []*vfs.Mem, what string) {
			t.Helper()
			var fss []vfs.FS
			for _, m := range disks {
				fss = append(fss, m)
			}
			v, err := OpenView(dirs, &ViewOptions{FS: joined{disks: fss}})
			if err != nil {
				t.Fatalf("%d nodes, %s: %v", nodes, what, err)
			}
			for f := range v.Check(bg, nil) {
				if f.Severity == fault.Error {
					t.Errorf("%d nodes, %s: %v", nodes, what, f)
				}
			}
			if err := errors.Join(v.Close(), holds(fss, storySteps, nodes-1)); err != nil {
				t.Fatalf("%d nodes, %s: %v", nodes, what, err)
			}
		}
		// Cuts.
		type crash struct {
			disks []*vfs.Mem
			what  string
		}
		var crashes []crash
		work := clone(base, vfs.CrashOptions{})
		var fss []vfs.FS
		total := 0
		for _, m := range work {
			fss = append(fss, vfs.NewFault(m, func(op vfs.Op) error {
				total++
				if op.Kind.Changes() || op.Kind == vfs.OpSync {
					crashes = append(crashes, crash{clone(work, vfs.CrashOptions{}), "cut before " + op.String()}, crash{clone(work, vfs.CrashOptions{Rand: rng}), "torn before " + op.String()})
				}
				return nil
			}))
		}
		if err := drop(fss); err != nil {
			t.Fatal(err)
		}
		if len(crashes) < 8 {
			t.Fatalf("%d crashes", len(crashes))
		}
		for _, c := range crashes {
			sound(c.disks, c.what)
		}
		// Failures.
		every := 3
		if long {
			every = 1
		}
		for fail := 1; fail <= total; fail += every {
			work := clone(base, vfs.CrashOptions{})
			var fss []vfs.FS
			n, what := 0, ""
			for _, m := range work {
				fss = append(fss, vfs.NewFault(m, func(op vfs.Op) error {
					if n++; n == fail {
						what = op.String()
						return errors.New("injected")
					}
					return nil
				}))
			}
			err := drop(fss)
			sound(work, fmt.Sprintf("%s failed: %v", what, err))
		}
		t.Logf("%d nodes: %d crashes, %d operations", nodes, len(crashes), total)
	}
}
