package versioned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
)

// TestRetained: the newest Last, every Every-th and what a snapshot names stay, and nothing else; with Last 0 all do.
func TestRetained(t *testing.T) {
	numbers := func(l ...int64) (out []verInfo) {
		for _, n := range l {
			out = append(out, verInfo{Number: n})
		}
		return out
	}
	for _, c := range []struct {
		there  []verInfo
		number int64
		keep   Retention
		pins   []int64
		want   []int64
	}{
		{numbers(0, 1, 2, 3), 4, Retention{}, nil, []int64{0, 1, 2, 3, 4}},
		{numbers(0, 1, 2, 3), 4, Retention{Every: 2}, nil, []int64{0, 1, 2, 3, 4}},
		{numbers(0, 1, 2, 3), 4, Retention{Last: 1}, nil, []int64{4}},
		{numbers(0, 1, 2, 3), 4, Retention{Last: 3}, nil, []int64{2, 3, 4}},
		{numbers(0, 1, 2, 3), 4, Retention{Last: 9}, nil, []int64{0, 1, 2, 3, 4}},
		{numbers(0, 1, 2, 3), -1, Retention{Last: 3}, nil, []int64{1, 2, 3}},
		{numbers(0, 3, 5, 6), 7, Retention{Last: 1, Every: 3}, nil, []int64{0, 3, 6, 7}},
		{numbers(0, 3, 5, 6), 7, Retention{Last: 2}, []int64{3, 6}, []int64{3, 6, 7}},
		{numbers(0, 3, 5, 6), 7, Retention{Last: 1, Every: 5}, []int64{3}, []int64{0, 3, 5, 7}},
	} {
		if got := retained(c.there, c.number, c.keep, c.pins); !slices.Equal(got, c.want) {
			t.Errorf("%+v, pins %v, of %v and %d: %v, want %v", c.keep, c.pins, c.there, c.number, got, c.want)
		}
	}
}

// TestWholeFilesStay: files of which nearly all is needed are not written again, even where tables and metadata bring all files over the limit.
func TestWholeFilesStay(t *testing.T) {
	const chunks, perChunk, last = 512, 64, 16
	_, st := memStore(t)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{chunks * perChunk}, Chunk: 8 * perChunk, Keep: Retention{Last: last}}, nil)
		must(t, err)
		for v := 1; v <= last+4; v++ {
			must(t, Put(ctx, a, []int64{0}, []int64{chunks * perChunk}, seq(1, chunks*perChunk, float64(v))))
			inc(ctx, t, a)
		}
		rec, size := a.cat.record(), int64(0)
		for _, f := range rec.Files {
			if size += f.Size; f.From != f.Born {
				return fmt.Errorf("%s has chunks from version %d on", f.Name, f.From)
			}
		}
		if limit := int64((last + 1) * chunks * perChunk * 8); len(rec.Files) != last || size <= limit {
			return fmt.Errorf("%d files of %d bytes: over %d the test would see something", len(rec.Files), size, limit)
		}
		return a.Close(ctx)
	})
}

// TestOldFilesThatCannotBeRead: where some versions of an older generation go and it cannot be told which of its files the others need, all
// of them stay.
func TestOldFilesThatCannotBeRead(t *testing.T) {
	mem, st := memStore(t)
	for round := range 3 { // a generation each
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a, err := Open(ctx, c, st, "a", nil)
			if round == 0 {
				a, err = Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{128}, Chunk: 512, Keep: Retention{Last: 4}}, nil)
			}
			must(t, err)
			for range []int{2, 1, 1}[round] { // versions 1 and 2, 3, 4
				must(t, Put(ctx, a, []int64{0}, []int64{128}, seq(1, 128, float64(a.Newest()+1))))
				inc(ctx, t, a)
			}
			return a.Close(ctx)
		})
		if round == 1 {
			f, err := mem.OpenRW("d/a/" + dataName(1, 1, 0))
			must(t, err)
			size, err := f.Size()
			must(t, errors.Join(err, f.Truncate(size-1), f.Close()))
		}
	}
	rec, err := readRecord(mem, "d/a")
	must(t, err)
	var versions []int64
	for _, v := range rec.Versions {
		versions = append(versions, v.Number)
	}
	if !slices.Equal(versions, []int64{1, 2, 3, 4}) {
		t.Fatalf("versions %v: the test needs that 0 went", versions)
	}
	for _, v := range []int64{1, 2} {
		name := dataName(1, v, 0)
		if _, err := mem.Stat("d/a/" + name); err != nil || !slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == name }) {
			t.Errorf("version %d: %s is gone, %v", v, name, err)
		}
	}
}
