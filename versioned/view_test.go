package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/versioned/arrays"
)

// TestViewDropCrash: the power is cut before every operation of View.Drop, or the operation fails. The kept versions are
// undamaged. The dropped version is either undamaged or absent.
func TestViewDropCrash(t *testing.T) {
	base := emptyDisk(t)
	must(t, comm.Run(bg, 4, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		return story(ctx, c, &Store{Dir: "d", FS: base[0]}, nil, func(int64) {})
	}))
	drop := func(fsys vfs.FS) error {
		v, err := OpenView("d/a", fsys, nil)
		if err != nil {
			return err
		}
		_, _, err = v.Drop(bg, false, storySteps-1)
		return errors.Join(err, v.Close())
	}
	whole := func(disks []*vfs.Mem, what string) {
		t.Helper()
		sound(t, openOne(t, disks[0], "a"))
		if err := holds(disks[0], storySteps); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	sc := crashtest.Scenario{Start: base, Torn: 1, Seed: 1, Run: crashtest.One(drop)}
	cuts := sc.Cuts(t)
	if len(cuts) < 8 {
		t.Fatalf("%d cuts", len(cuts))
	}
	for _, c := range cuts {
		whole(c.Mem, c.When)
	}
	sc.Every = crashtest.Times(3, 1)
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		whole(f.Mem, fmt.Sprintf("%s: %v", f.When, f.Err))
	}
}

// TestSlabs: boxes larger than a piece, in all dimensions, are read in row-major order.
func TestSlabs(t *testing.T) {
	for most := int64(1); most < 70; most++ {
		lo, hi := []int64{1, 0, 2, 3}, []int64{3, 3, 4, 8}
		var got [][4]int64
		must(t, slabs(lo, hi, most, func(lo, hi []int64) error {
			n := int64(1)
			for d := range lo {
				n *= hi[d] - lo[d]
			}
			if n > most || n < 1 {
				t.Fatalf("%v %v: %d elements, want at most %d", lo, hi, n, most)
			}
			for a := lo[0]; a < hi[0]; a++ {
				for b := lo[1]; b < hi[1]; b++ {
					for c := lo[2]; c < hi[2]; c++ {
						for d := lo[3]; d < hi[3]; d++ {
							got = append(got, [4]int64{a, b, c, d})
						}
					}
				}
			}
			return nil
		}))
		i := 0
		for a := lo[0]; a < hi[0]; a++ {
			for b := lo[1]; b < hi[1]; b++ {
				for c := lo[2]; c < hi[2]; c++ {
					for d := lo[3]; d < hi[3]; d++ {
						if i >= len(got) || got[i] != [4]int64{a, b, c, d} {
							t.Fatalf("most %d: element %d", most, i)
						}
						i++
					}
				}
			}
		}
		if i != len(got) {
			t.Fatalf("most %d: %d elements, want %d", most, len(got), i)
		}
	}
	for _, hi := range [][]int64{{0}, {3, 0}, {0, 3}, {3, 0, 2}} {
		must(t, slabs(make([]int64, len(hi)), hi, 2, func(lo, hi []int64) error {
			if hi[len(hi)-1] > lo[len(lo)-1] {
				t.Errorf("%v %v of an empty box", lo, hi)
			}
			return nil
		}))
	}
}

// TestRanksDiffer: if ranks pass different arguments to a collective call, all ranks get an error. No array or version is made,
// and the Array stays usable.
func TestRanksDiffer(t *testing.T) {
	for _, kind := range []string{"memory", "memory of processes", "shared"} {
		mem, st := memStore(t)
		if kind != "shared" {
			st = nil
		}
		ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
			if kind == "memory of processes" {
				c = commtest.Isolate(c)
			}
			odd := btoi(c.Rank() == 2)
			want := Spec{Name: "a", Type: elem.Int16, Shape: []int64{90}, Chunk: 512, Extra: 1}
			for _, x := range []struct {
				what string
				spec Spec
			}{
				{"shape", Spec{Name: "a", Type: elem.Int16, Shape: []int64{90 + odd}, Chunk: 512}},
				{"chunk", Spec{Name: "a", Type: elem.Int16, Shape: []int64{90}, Chunk: int(512 + 8*odd)}},
				{"retention", Spec{Name: "a", Type: elem.Int16, Shape: []int64{90}, Keep: Retention{Last: int(odd)}}},
				{"type", Spec{Name: "a", Type: elem.Int16 + Type(odd), Shape: []int64{90}}},
			} {
				if _, err := Create(ctx, c, st, x.spec, nil); !errors.Is(err, fault.ErrUsage) {
					return fmt.Errorf("%s, another %s: %w", kind, x.what, err)
				}
			}
			key := []byte("0123456789abcdef")
			key[0] += byte(odd)
			if _, err := Create(ctx, c, st, want, &Options{Key: key}); err == nil || kind != "memory of processes" && !errors.Is(err, ErrKey) {
				return fmt.Errorf("%s, another key: %w", kind, err)
			}
			if list, err := arrays.List("d", mem); err != nil || len(list) > 0 {
				return fmt.Errorf("left behind: %v, %w", list, err)
			}
			must(t, c.Barrier(ctx))
			a, err := Create(ctx, c, st, want, nil)
			must(t, err)
			must(t, Put(ctx, a, []int64{int64(c.Rank()) * 30}, []int64{int64(c.Rank())*30 + 30}, slices.Repeat([]int16{7}, 30)))
			if n, err := a.Inc(ctx, 1+odd, ""); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("%s, another step: %d, %w", kind, n, err)
			}
			if n, err := a.Inc(ctx, 1, fmt.Sprint("of rank ", odd)); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("%s, another label: %d, %w", kind, n, err)
			}
			if _, err := a.Reserve(ctx, 95-odd); !errors.Is(err, fault.ErrUsage) {
				return fmt.Errorf("%s, another length: %w", kind, err)
			}
			if elems(a.state.shape) != 90 || a.Newest() != 0 {
				return fmt.Errorf("%s: %d elements, version %d", kind, elems(a.state.shape), a.Newest())
			}
			if n, err := a.Inc(ctx, 1, "all"); err != nil || n != 1 {
				return fmt.Errorf("%s: %d, %w", kind, n, err)
			}
			got := make([]int16, 90)
			if err := GetAt(ctx, a, 1, []int64{0}, []int64{90}, got); err != nil || !slices.Equal(got, slices.Repeat([]int16{7}, 90)) {
				return fmt.Errorf("%s: %v, %w", kind, got, err)
			}
			return a.Close(ctx)
		})
	}
}
