package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
)

// TestProduction goes through all phases at a small size.
func TestProduction(t *testing.T) {
	dir := t.TempDir()
	r, err := Production(t.Context(), ProductionOptions{Dir: dir, Ne: 2, Levels: 4, Ranks: 24, Subfiles: []int{4, 1}, Buffer: 64 << 10, Convert: 3})
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 * 7; len(r.Rows) != want {
		t.Errorf("%d rows, want %d", len(r.Rows), want)
	}
	for _, row := range r.Rows {
		if row.Workload != productionName || len(row.Seconds) != 1 || !(row.Seconds[0] > 0) {
			t.Errorf("%+v", row)
		}
		if s, ok := row.OfRaw(); ok && !(s > 0) || !ok && !strings.HasPrefix(row.What, "open") {
			t.Errorf("%s: share %v", row.What, s)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	name, err := r.Save(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadResults(name); err != nil {
		t.Error(err)
	}
}

// TestProductionInterrupted: the phases that were done are in the results, and no file is left.
func TestProductionInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Production(ctx, ProductionOptions{Dir: dir, Ne: 2, Levels: 4, Ranks: 24, Subfiles: []int{4}, At: func(stage string, _, _ int64) {
		if strings.HasPrefix(stage, "process-centric") && strings.HasSuffix(stage, "level") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if want := 7 + 4; len(r.Rows) != want || r.Rows[want-1].What != "check" {
		t.Errorf("%d rows, want %d: %+v", len(r.Rows), want, r.Rows)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestProductionSizes: what cannot be is an error before anything is written.
func TestProductionSizes(t *testing.T) {
	for _, o := range []ProductionOptions{{Ne: -1}, {Ranks: 4, Subfiles: []int{5}}, {Ne: 2, Ranks: 4, Subfiles: []int{0}}} {
		o.Dir = t.TempDir()
		if _, err := Production(t.Context(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
		if left, _ := os.ReadDir(o.Dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	o := ProductionOptions{Dir: t.TempDir(), Ne: 2, Levels: 2, Ranks: 4, Subfiles: []int{2}, Memory: 1 << 20}
	if peakMemory() > 0 { // it can be told
		if _, err := Production(t.Context(), o); err == nil || !strings.Contains(err.Error(), "over the cap") {
			t.Errorf("over the cap: %v", err)
		}
	}
}

// TestPortions: the files are those of one flush, whatever part of the data is there at a time.
func TestPortions(t *testing.T) {
	for _, l := range layouts {
		for _, subfiles := range []int{1, 3} {
			j := Job{Case: "F_h0", Ranks: 12, Float: true, FileMem: true, Subfiles: subfiles, Maps: MapSource{Ne: 2, Levels: 3}}
			dir := t.TempDir()
			var list [2]string
			for i, buffer := range []int64{1 << 30, 32 << 10} {
				list[i] = filepath.Join(dir, []string{"one", "more"}[i])
				w := Work{Op: productionName, Phase: "write", Job: j, Layout: l.String(), Path: list[i], Buffer: buffer}
				took, err := w.Do(t.Context(), Goroutines(j.Ranks))
				if err != nil {
					t.Fatal(err)
				}
				if one := strings.HasPrefix(took.Note, "flushes: 1;"); one != (i == 0) {
					t.Errorf("%v, %d subfiles, buffer %d: %s", l, subfiles, buffer, took.Note)
				}
			}
			for k := range subfiles {
				name := func(base string) string { return base + []string{".0000", ".0001", ".0002"}[k] }
				a, err := os.ReadFile(name(list[0]))
				if err != nil {
					t.Fatal(err)
				}
				b, err := os.ReadFile(name(list[1]))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a, b) {
					t.Errorf("%v: subfile %d of %d is another with more flushes", l, k, subfiles)
				}
			}
			for f := range blob.Check(t.Context(), list[1], nil) {
				if f.Severity > blob.Note {
					t.Errorf("%v: %v", l, f)
				}
			}
		}
	}
}
