package versioned

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// V12 of View.Drop: the power is cut before every operation of it, and every one fails once. The versions that stay are whole, and the one that goes is
// there, whole, or is not.
func TestViewDropCrash(t *testing.T) {
	base := emptyDisk(t)
	must(t, comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		return story(ctx, c, &Store{Dir: "d", FS: base[0]}, nil, func(int64) {})
	}))
	drop := func(fsys vfs.FS) error {
		v, err := OpenView("d/a", &ViewOptions{FS: fsys})
		if err != nil {
			return err
		}
		return errors.Join(v.Drop(bg, storySteps-1), v.Close())
	}
	sound := func(disks []*vfs.Mem, what string) {
		t.Helper()
		v, err := OpenView("d/a", &ViewOptions{FS: disks[0]})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for f := range v.Check(bg, nil) {
			if f.Severity == fault.Error {
				t.Errorf("%s: %v", what, f)
			}
		}
		if err := errors.Join(v.Close(), holds(disks[0], storySteps)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	sc := crashtest.Scenario{Start: base, Torn: 1, Seed: 1, Run: crashtest.One(drop)}
	cuts := sc.Cuts(t)
	if len(cuts) < 8 {
		t.Fatalf("%d cuts", len(cuts))
	}
	for _, c := range cuts {
		sound(c.Mem, c.When)
	}
	sc.Every = crashtest.Times(3, 1)
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		sound(f.Mem, fmt.Sprintf("%s: %v", f.When, f.Err))
	}
}
