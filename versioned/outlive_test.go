package versioned

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"blobio/comm"
	"blobio/internal/base/elem"
)

// TestOlderVersionsOutlive: the loss of a file makes only the versions that need it unreadable. Older versions stay readable
// unless cleaning moved their chunks into the file.
func TestOlderVersionsOutlive(t *testing.T) {
	for _, keep := range []int{0, 6} {
		mem, st := memStore(t)
		const n, incs = 64, 30
		ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
			a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512, Keep: Retention{Last: keep}}, nil)
			must(t, err)
			for v := range incs {
				must(t, Put(ctx, a, []int64{0}, []int64{n}, seq(v, n, 1)))
				inc(ctx, t, a)
			}
			return a.Close(ctx)
		})
		must(t, mem.Remove("d/a/"+dataName(1, incs, 0)))
		v := openOne(t, mem, "a")
		from := v.rec.Files[len(v.rec.Files)-1].From
		if (keep == 0) != (from == incs) {
			t.Fatalf("keep %d: the last file has versions from %d on", keep, from)
		}
		for _, x := range v.Versions() {
			got := make([]float64, n)
			err := v.Get(bg, x.Number, []int64{0}, []int64{n}, bytesOf(got))
			if (err == nil) != (x.Number < from) {
				t.Errorf("keep %d, version %d: %v", keep, x.Number, err)
			}
			if want := seq(int(x.Number)-1, n, 1); err == nil && x.Number > 0 && !slices.Equal(got, want) {
				t.Errorf("keep %d, version %d: %v", keep, x.Number, got)
			}
		}
		if _, err := v.cat.dropped(bg, v.Versions()[0].Number); err == nil {
			t.Error("dropped, though nobody knows which files are needed")
		}
	}
}

// TestNewerVersionsOutlive: the loss of a file affects only versions that need the file, and versions that no other file
// describes. Newer versions stay readable if all their chunks are in other files, and the array can be opened.
func TestNewerVersionsOutlive(t *testing.T) {
	const n = 640 // 10 chunks
	mem, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, st, n, nil)
		for v, until := range []int64{n, 64, n, 64} { // version 2 needs version 1, and version 4 needs version 3
			if c.Rank() == 0 {
				must(t, Put(ctx, a, []int64{0}, []int64{until}, seq(v+1, int(until), 1)))
			}
			inc(ctx, t, a)
		}
		return a.Close(ctx)
	})
	must(t, mem.Remove("d/a/"+dataName(1, 1, 0)))
	want := map[int64]bool{0: true, 3: true, 4: true}
	v := openOne(t, mem, "a")
	for _, x := range v.Versions() {
		got := make([]float64, n)
		if err := v.Get(bg, x.Number, []int64{0}, []int64{n}, bytesOf(got)); (err == nil) != want[x.Number] {
			t.Errorf("version %d: %v", x.Number, err)
		}
		if x.Number == 2 { // its new chunks and the other rank's part are readable, too
			if err := v.Get(bg, 2, []int64{0}, []int64{64}, bytesOf(got[:64])); err != nil || !slices.Equal(got[:64], seq(2, 64, 1)) {
				t.Errorf("the new part of version 2: %v", err)
			}
		}
	}
	var findings []string
	for f := range v.Check(bg, nil) {
		if f.File == "" {
			findings = append(findings, f.Msg[:9])
		}
	}
	if findings = slices.Compact(findings); !slices.Equal(findings, []string{"version 1", "version 2"}) { // there is one finding for each segment
		t.Errorf("findings of %q", findings)
	}
	ranks(t, 3, func(ctx context.Context, c comm.Comm) error {
		a, err := Open(ctx, c, st, "a", nil)
		must(t, err)
		got := make([]float64, n)
		if err := Get(ctx, a, []int64{0}, []int64{n}, got); err != nil || !slices.Equal(got, append(seq(4, 64, 1), seq(3, n, 1)[64:]...)) {
			return fmt.Errorf("%v, %w", got, err)
		}
		return a.Close(ctx)
	})
}
