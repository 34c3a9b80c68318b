package bench

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestQuick runs every workload that needs nothing but Go at the smallest size, for its code.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	for _, w := range Workloads() {
		if slices.Contains([]string{"peers", "processes", "canonical"}, w.Name) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			r, err := Run(t.Context(), Options{Dir: dir, Quick: true, Log: func(s string) { t.Log(s) }}, w.Name)
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

// sound looks whether the results can be what they say.
func sound(t *testing.T, r *Results) {
	t.Helper()
	if len(r.Rows) == 0 && len(r.Profiles) == 0 && len(r.Skipped) == 0 {
		t.Fatal("no rows")
	}
	for _, row := range r.Rows {
		if len(row.Seconds) != r.Runs {
			t.Errorf("%s, %s, %s: %d times, want %d", row.Data, row.What, row.Who, len(row.Seconds), r.Runs)
		}
		if strings.HasPrefix(row.What, "write") && row.Workload != "ceilings" && !(row.Share("raw write") > 0) {
			t.Errorf("%s, %s, %s: no raw write beside it: %+v", row.Data, row.What, row.Who, row)
		}
		if strings.HasPrefix(row.What, "read") && row.Workload == "read" && !(row.Share("raw read") > 0 && row.Share("memcpy") > 0) {
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

// TestInterrupt: nothing is left behind, and the error says what happened.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	_, err := Run(ctx, Options{Dir: dir, Quick: true, At: func(string, int64, int64) {
		if calls++; calls == 3 {
			cancel()
		}
	}}, "captured")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUnknownWorkload(t *testing.T) {
	if _, err := Run(t.Context(), Options{Dir: t.TempDir()}, "nothing"); err == nil {
		t.Error("no error")
	}
}
