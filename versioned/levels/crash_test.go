package levels

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"testing"

	"blobio/internal/vfs"
)

var long = os.Getenv("BLOBIO_LONG") != ""

const storySteps = 3

// goesOn checks what a program finds that begins again, with the disks as they are, after one that was in the commit of a version: that
// version or the one before, whole; and that it comes to its end then.
func goesOn(t *testing.T, fs vfs.FS, version int64, what string) {
	t.Helper()
	cl := newCluster(t, 1)
	cl.fs = fs
	from, err := cl.program(storySteps + 1)
	if err != nil {
		t.Fatalf("%s, in the commit of version %d: %v", what, version, err)
	}
	if from > version || from < version-1 {
		t.Fatalf("%s, in the commit of version %d: the program goes on from version %d", what, version, from)
	}
}

// V12 of the store over a session: the power of all nodes is cut before every operation that changes something. Every version is
// flushed. Sessions do not sync their caches: what is left of them, torn, must not stand in the way of what was flushed.
func TestCrash(t *testing.T) {
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
	type crash struct {
		fs   *vfs.Mem
		step int64
		what string
	}
	var mu sync.Mutex
	var crashes []crash
	rng := rand.New(rand.NewSource(5))
	now, points, every := int64(0), 0, 1
	if !long {
		every = 71
	}
	cl.begins = func(v int64) {
		mu.Lock()
		defer mu.Unlock()
		now = v
	}
	cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
		if !op.Kind.Changes() && op.Kind != vfs.OpSync {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if points++; points%every != 0 || now == 0 {
			return nil
		}
		for _, o := range []vfs.CrashOptions{{}, {Rand: rng}} {
			crashes = append(crashes, crash{mem.CrashClone(o), now, fmt.Sprintf("cut before %s, torn: %v", op.String(), o.Rand != nil)})
		}
		return nil
	})
	if _, err := cl.program(storySteps); err != nil {
		t.Fatal(err)
	}
	if len(crashes) < 10 {
		t.Fatalf("%d crashes", len(crashes))
	}
	for _, c := range crashes {
		goesOn(t, c.fs, c.step, c.what)
	}
	t.Logf("%d crashes at %d operations", len(crashes), points)
}

// Every operation fails once: all ranks get an error or none does, and what was committed is there.
func TestFaults(t *testing.T) {
	run := func(fail int64) (n int64) {
		cl := newCluster(t, 1)
		mem := cl.fs
		var mu sync.Mutex
		now := int64(0)
		what := ""
		cl.fs = vfs.NewFault(mem, func(op vfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == fail {
				what = op.String()
				return errors.New("injected")
			}
			return nil
		})
		cl.begins = func(v int64) {
			mu.Lock()
			defer mu.Unlock()
			now = v
		}
		errs := make([]error, len(cl.nodes))
		cl.ended = func(rank int, err error) { errs[rank] = err }
		if _, err := cl.program(storySteps); err != nil && what == "" {
			t.Fatal(err)
		}
		for r, e := range errs {
			if (e == nil) != (errs[0] == nil) {
				t.Fatalf("operation %d, %s: rank %d: %v, rank 0: %v", fail, what, r, e, errs[0])
			}
		}
		goesOn(t, mem, max(now, 1), fmt.Sprintf("operation %d, %s, failed with %v", fail, what, errs[0]))
		return n
	}
	total := run(0)
	every := int64(1)
	if !long {
		every = 131
	}
	for k := int64(1); k <= total; k += every {
		run(k)
	}
	t.Logf("%d operations", total)
}
