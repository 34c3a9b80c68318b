package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestQuick runs workloads at the smallest size to test their code. Without BLOBIO_LONG it runs only two workloads.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	for _, w := range Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			if os.Getenv("BLOBIO_LONG") == "" && !slices.Contains([]string{"records", "check"}, w.Name) {
				t.Skip("set BLOBIO_LONG for all")
			}
			r, err := Run(t.Context(), Options{Dir: dir, Quick: true}, w.Name)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, r)
		})
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// sound checks that the results are plausible.
func sound(t *testing.T, r *Results) {
	t.Helper()
	if len(r.Rows) == 0 && len(r.Skipped) == 0 {
		t.Fatal("no rows")
	}
	for _, row := range r.Rows {
		if len(row.Seconds) != r.Runs {
			t.Errorf("%s, %s, %s: %d times, want %d", row.Data, row.What, row.Who, len(row.Seconds), r.Runs)
		}
		if strings.HasPrefix(row.What, "write") && !(row.Share("raw write") > 0) {
			t.Errorf("%s, %s, %s: no raw write beside it: %+v", row.Data, row.What, row.Who, row)
		}
		if strings.HasPrefix(row.What, "read") && row.Workload == "read" && !(row.Share("raw read") > 0) {
			t.Errorf("%s, %s, %s: no raw read beside it", row.Data, row.What, row.Who)
		}
	}
	name, err := r.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := LoadResults(name); err != nil || len(again.Rows) != len(r.Rows) {
		t.Errorf("saved and loaded: %v", err)
	}
}

// TestInterrupt checks that an interrupted run leaves no files and returns a clear error.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	_, err := Run(ctx, Options{Dir: dir, Quick: true, At: func(string, int64, int64) {
		if calls++; calls == 3 {
			cancel()
		}
	}}, "shared")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterruptedRows checks that results before an interrupt are kept, including incomplete rows.
func TestInterruptedRows(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	r, err := Run(ctx, Options{Dir: t.TempDir(), Quick: true, At: func(string, int64, int64) {
		if calls++; calls == 5 { // the call after two warm-up calls and the two calls of the first turn
			cancel()
		}
	}}, "shared")
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Rows) != 2 {
		t.Fatalf("%+v, %v: want 2 rows", r, err)
	}
	for _, row := range r.Rows {
		if len(row.Seconds) != 1 || len(row.Bounds) != 1 {
			t.Errorf("%+v: want one run", row)
		}
	}
}

// TestBoundsHaveTheRoom checks that plain writes to memory files do not run while the compared dataset still exists.
func TestBoundsHaveTheRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b") // the name must not be treated as a pattern
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Quick: true, At: func(string, int64, int64) {}}
	s := &session{Options: o, dir: dir, res: newResults(&o)}
	j, data := s.fCase("h1", 64)
	list, err := s.inProcess(j, data, "write", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		took, err := r.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.row.add(took)
		if err := r.bound(t.Context(), r.row); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s: beside the plain writes: %v, %v", r.row.Who, left, err)
		}
	}
}

func TestUnknownWorkload(t *testing.T) {
	if _, err := Run(t.Context(), Options{Dir: t.TempDir()}, "nothing"); err == nil {
		t.Error("no error")
	}
}

// TestClearBeforeTheClock checks that in each turn files of an earlier run are removed before the clock starts.
func TestClearBeforeTheClock(t *testing.T) {
	s := &session{Options: Options{Runs: 3, At: func(string, int64, int64) {}}, dir: t.TempDir(), res: &Results{}, name: "x"}
	left := s.path("left")
	var seen []bool
	if err := s.race(context.Background(), true, runner{row: &Row{},
		clear: func() error { return removeDataset(left) },
		run: func(context.Context) (Took, error) {
			_, err := os.Stat(left)
			seen = append(seen, err == nil)
			return Took{Seconds: 1}, os.WriteFile(left, nil, 0o666)
		}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []bool{false, false, false, false}) {
		t.Errorf("left over when the clock starts: %v", seen)
	}
}
