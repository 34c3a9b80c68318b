package versioned

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

const levelsSteps = 3

// goesOn starts a program again after the commit of a version was interrupted, with the disks that are left. The program must
// find an undamaged dataset with this version or the version before, and complete its run.
func goesOn(t *testing.T, fs vfs.FS, version int64, what string) {
	t.Helper()
	cl := newCluster(t, 1)
	cl.fs = fs
	from, err := cl.program(levelsSteps + 1)
	if err != nil {
		t.Fatalf("%s, in the commit of version %d: %v", what, version, err)
	}
	if from > version || from < version-1 {
		t.Fatalf("%s, in the commit of version %d: the program goes on from version %d", what, version, from)
	}
}

// TestLevelsCrash: the power of all nodes is cut before every modifying operation of a program that commits to a session.
// Every version is flushed. Sessions do not sync their caches, so torn files in the caches must not hide the flushed versions.
func TestLevelsCrash(t *testing.T) {
	mem := vfs.NewMem()
	cl := newCluster(t, 1)
	cl.fs = mem
	for _, dir := range []string{"/p/sim", "/nodes"} {
		if err := mem.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/p", "/"} {
		if err := mem.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	now := int64(0)
	var mu sync.Mutex
	cl.begins = func(v int64) {
		mu.Lock()
		defer mu.Unlock()
		now = v
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{mem}, Torn: 1, Seed: 5, Every: crashtest.Times(197, 11), // a sample, because a test of all 1,500 operations takes minutes
		Mark: func() int64 {
			mu.Lock()
			defer mu.Unlock()
			return now - 1
		},
		Run: crashtest.One(func(fsys vfs.FS) error {
			cl.fs = fsys
			_, err := cl.program(levelsSteps)
			return err
		})}
	cuts := sc.Cuts(t)
	if len(cuts) < 10 {
		t.Fatalf("%d cuts", len(cuts))
	}
	for _, c := range cuts {
		goesOn(t, c.Mem[0], c.Mark+1, c.When)
	}
}

// TestLevelsFaults: every operation fails once. All ranks get an error or none does, and committed versions stay.
func TestLevelsFaults(t *testing.T) {
	var mu sync.Mutex
	var now int64
	var errs []error
	sc := crashtest.Scenario{Every: crashtest.Times(307, 17)}
	start := newCluster(t, 1).fs.(*vfs.Mem)
	if err := errors.Join(start.SyncDir("/p"), start.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	sc.Start = []*vfs.Mem{start}
	sc.Run = crashtest.One(func(fsys vfs.FS) error {
		cl := newCluster(t, 1)
		cl.fs = fsys
		now, errs = 0, make([]error, len(cl.nodes))
		cl.begins = func(v int64) {
			mu.Lock()
			defer mu.Unlock()
			now = v
		}
		cl.ended = func(rank int, err error) { errs[rank] = err }
		_, err := cl.program(levelsSteps)
		return err
	})
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		for r, e := range errs {
			if (e == nil) != (errs[0] == nil) {
				t.Fatalf("%s: rank %d: %v, rank 0: %v", f.When, r, e, errs[0])
			}
		}
		goesOn(t, f.Mem[0], max(now, 1), fmt.Sprintf("%s: %v", f.When, errs[0]))
	}
}
