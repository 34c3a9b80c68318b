package prefixdir

import (
	"errors"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

var errPower = errors.New("power is gone")

// TestCrash cuts the power before each operation of a flush and of a deletion. After each power loss all complete datasets
// must be found and whole, and the index must not list a damaged dataset as complete.
func TestCrash(t *testing.T) {
	ctx := t.Context()
	story := func(d *Dir) error {
		if err := flush(ctx, d, ckpt(3)); err != nil {
			return err
		}
		return d.Delete(ctx, "ckpt.1")
	}
	base := memDir()
	must(t, flush(ctx, base, ckpt(1)))
	must(t, flush(ctx, base, ckpt(2)))
	start := base.FS.(*vfs.Mem)
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error { return story(at(fsys)) })}
	for f := range sc.Faults(t, crashtest.Dies(errPower)) {
		n, m := f.N, f.Mem[0]
		if !errors.Is(f.Err, errPower) {
			t.Fatalf("%s: %v", f.When, f.Err)
		}
		for seed := range int64(4) {
			o := vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}
			if seed == 0 {
				o.Rand = nil
			}
			d := at(m.CrashClone(o))
			x, _, _, err := d.Index.Load()
			if err != nil {
				t.Fatalf("operation %d, seed %d: %v", n, seed, err)
			}
			two := false
			for _, e := range x.Candidates() {
				two = two || e.ID == 2
				if err := whole(d, e); err != nil {
					t.Fatalf("operation %d, seed %d: %s: %v", n, seed, e.Name, err)
				}
			}
			if !two {
				t.Fatalf("operation %d, seed %d: dataset 2 is lost: %s", n, seed, names(x.Entries()))
			}
			must(t, flush(ctx, d, ckpt(4)))
			if x, err = d.Index.Read(); err != nil || x.Current() != "ckpt.4" {
				t.Fatalf("operation %d, seed %d: afterwards: %v", n, seed, err)
			}
		}
	}
}

func at(fsys vfs.FS) *Dir {
	d := Open(fsys, "p")
	d.Index.location = time.UTC
	return d
}

// TestFaults lets each operation of a flush fail once. The flush must return an error, or the dataset must be complete.
func TestFaults(t *testing.T) {
	ctx := t.Context()
	sc := crashtest.Scenario{Run: crashtest.One(func(fsys vfs.FS) error { return flush(ctx, at(fsys), ckpt(1)) })}
	for f := range sc.Faults(t, crashtest.Fails(errPower)) {
		n, m, err := f.N, f.Mem[0], f.Err
		d := at(m)
		x, _, _, lerr := d.Index.Load()
		if lerr != nil {
			t.Fatalf("operation %d: %v", n, lerr)
		}
		e, ok := x.Newest(0)
		if err == nil && !ok {
			t.Errorf("operation %d: no error, and no dataset", n)
		}
		if ok {
			if werr := whole(d, e); werr != nil {
				t.Errorf("operation %d (%v): %v", n, err, werr)
			}
		}
		if err := flush(ctx, d, ckpt(2)); err != nil {
			t.Errorf("operation %d: the next flush: %v", n, err)
		}
	}
}

// TestFaultsSay checks that I/O errors are not reported as format errors.
func TestFaultsSay(t *testing.T) {
	m := vfs.NewMem()
	must(t, flush(t.Context(), at(m), ckpt(1)))
	for _, kind := range []vfs.OpKind{vfs.OpRead, vfs.OpOpen} {
		d := at(vfs.NewFault(m, vfs.FailOn(kind, "index.scr", 1, errPower)))
		if _, rebuilt, _, err := d.Index.Load(); !errors.Is(err, errPower) || rebuilt {
			t.Errorf("%v: rebuilt %v, %v", kind, rebuilt, err)
		}
	}
	if s := fmt.Sprint(GenA, GenC, Generation(9)); s != "A C Generation(9)" {
		t.Error(s)
	}
}
