package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// failing is a solver in which one method fails on rank 1.
type failing struct {
	boxLattice
	method string
	early  bool // the method returns before its communication, or panics if it has no communication
}

var errMethod = errors.New("this method fails")

// do calls the method of the lattice. If the method is to fail, do adds the error.
func (f failing) do(method string, call func() error) error {
	if method != f.method || f.c.Rank() != 1 {
		return call()
	}
	if f.early {
		return errMethod
	}
	return errors.Join(call(), errMethod)
}

func (f failing) Start(ctx context.Context) error {
	return f.do("Start", func() error { return f.boxLattice.Start(ctx) })
}

func (f failing) Regrid(ctx context.Context, coarse int64) (changed []int, err error) {
	err = f.do("Regrid", func() error { changed, err = f.boxLattice.Regrid(ctx, coarse); return err })
	return changed, err
}

func (f failing) Step(ctx context.Context, at recovery.Moment) (*recovery.Event, error) {
	e, err := f.boxLattice.Step(ctx, at)
	if f.method == "Diagnose" && f.c.Rank() == 0 {
		return &recovery.Event{Kind: "systemic", Level: at.Step.Level}, err
	}
	return e, err
}

func (f failing) Accept(ctx context.Context, at recovery.Moment) error {
	return f.do("Accept", func() error { return f.boxLattice.Accept(ctx, at) })
}

func (f failing) Average(ctx context.Context, at recovery.Moment) error {
	return f.do("Average", func() error { return f.boxLattice.Average(ctx, at) })
}

func (f failing) Set(ctx context.Context, level int, boxes []versioned.BoxInfo, data map[int][]float64) error {
	return f.do("Set", func() error { return f.boxLattice.Set(ctx, level, boxes, data) })
}

func (f failing) StepBox(ctx context.Context, at recovery.Moment, box int, data []float64) error {
	if f.method == "StepBox" && f.early {
		panic(errMethod)
	}
	if f.method == "StepBox" {
		return errMethod
	}
	return f.boxLattice.StepBox(ctx, at, box, data)
}

func (f failing) Forward(context.Context, recovery.Moment, int) (float64, error) { return 0, errMethod }

// TestEachCallback: if a function of the program fails on one rank, all ranks return its error, and the Comm still works. If the
// function only repairs a box, all ranks go back to an older version instead.
func TestEachCallback(t *testing.T) {
	want, _, err := twoLevels().run(0)
	if err != nil {
		t.Fatal(err)
	}
	level1 := recovery.Moment{Coarse: 2, Step: versioned.Step{Level: 1, Index: 1}}
	for _, v := range []struct {
		method, fault string
		early         bool
		mended        bool
	}{
		{method: "Start"}, {method: "Regrid"}, {method: "Accept"}, {method: "Average"}, {method: "Set", fault: "failed"}, {method: "Set", fault: "metadata"},
		{method: "Clean", fault: "latent"}, {method: "Diagnose"}, {method: "Snapshot"}, {method: "Forward", fault: "data"}, {method: "StepBox", fault: "data", mended: true},
		{method: "StepBox", fault: "data", mended: true, early: true}, // a panic
		{method: "Accept", early: true}, {method: "Set", fault: "failed", early: true},
	} {
		s := twoLevels(&fault{kind: v.fault, at: level1, found: recovery.Moment{Coarse: 3}})
		if v.method == "Forward" {
			s.config.Cadence = versioned.Cadence{1, 0}
		}
		err := comm.Run(t.Context(), s.ranks, nil, func(ctx context.Context, c comm.Comm) error {
			x := failing{boxLattice{newLattice(c, s.sub, &faults{list: s.faults})}, v.method, v.early}
			fails := func(method string) error { return x.do(method, func() error { return nil }) }
			o := &recovery.Options{Forward: v.method == "Forward",
				Clean: func(context.Context, *versioned.Hierarchy, *versioned.Snapshot) (bool, error) {
					return true, fails("Clean")
				},
				Diagnose: func(context.Context, recovery.Event) error { return fails("Diagnose") },
				Snapshot: func(context.Context, *versioned.Hierarchy, int64) error { return fails("Snapshot") },
			}
			r, err := recovery.Open(ctx, c, nil, s.spec(), x, o)
			if err == nil {
				x.run = r
				err = r.Go(ctx, s.steps)
			}
			switch {
			case v.mended && (err != nil || !bytes.Equal(x.result(), want)):
				return fmt.Errorf("rank %d: not mended: %w", c.Rank(), err)
			case v.mended:
				return r.Close(ctx)
			case v.early && err != nil: // the ranks were in different calls of the Comm, so it is broken
				return nil
			case v.early:
				t.Errorf("%+v: rank %d has no error", v, c.Rank())
				return nil
			case !errors.Is(err, errMethod):
				return fmt.Errorf("rank %d returns %w", c.Rank(), err)
			}
			return c.Barrier(ctx)
		})
		if err != nil && (!v.early || v.mended) {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// TestOpenWithTwoLists: the newest snapshot is damaged, and rank 1 sees an older state of the store with the same number of
// snapshots. All ranks open the same snapshot.
func TestOpenWithTwoLists(t *testing.T) {
	s := twoLevels()
	s.keep[1] = versioned.Retention{Last: 3}
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("d"), mem.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	from := make([]int64, s.ranks)
	job := func(steps int64, rank1 vfs.FS) (out []byte, err error) {
		err = comm.Run(t.Context(), s.ranks, nil, func(ctx context.Context, c comm.Comm) error {
			x := newLattice(c, s.sub, &faults{})
			r, err := recovery.Open(ctx, c, &versioned.Store{Dir: "d", FS: []vfs.FS{mem, rank1}[c.Rank()]}, s.spec(), x, nil)
			if err != nil {
				return err
			}
			x.run, from[c.Rank()] = r, r.Coarse()
			if err := r.Go(ctx, steps); err != nil {
				return err
			}
			if c.Rank() == 0 {
				out = x.result()
			}
			return r.Close(ctx)
		})
		return out, err
	}
	if _, err := job(5, mem); err != nil {
		t.Fatal(err)
	}
	old := mem.CrashClone(vfs.CrashOptions{})
	want, err := job(6, mem)
	if err != nil {
		t.Fatal(err)
	}
	list, err := mem.ReadDir("d/u.level0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "g") && strings.Contains(e.Name(), "-v6-") { // files of the snapshot at the beginning of coarse step 5
			err = errors.Join(err, mem.Remove(path.Join("d/u.level0", e.Name())))
		}
	}
	got, err2 := job(6, old)
	if err := errors.Join(err, err2); err != nil || from[0] != 4 || from[1] != 4 || !bytes.Equal(got, want) {
		t.Errorf("ranks continue from coarse steps %v, want 4; %v, same result %v", from, err, bytes.Equal(got, want))
	}
}
