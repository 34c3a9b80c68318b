package bench

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"blobio/internal/base/vfs"
)

func TestShare(t *testing.T) {
	r := Row{Bytes: 900 << 20, Seconds: []float64{0.5, 1, 2}}
	if !math.IsNaN(r.Share("raw write")) {
		t.Error("a share without a bound")
	}
	r.bound("raw write", 500<<20, 0.5) // 1000 MiB/s
	r.bound("raw write", 500<<20, 0.4)
	r.bound("raw write", 500<<20, 0.6)
	if s := r.Share("raw write"); math.Abs(s-0.9) > 1e-12 {
		t.Errorf("share %v, want 0.9", s)
	}
}

func TestResultsAreChecked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.json")
	for _, text := range []string{"", "{", `{"version": 7}`, `{"version": 1, "rows": [{"data": "x"}]}`,
		`{"version": 1, "rows": []}`,
		`{"version": 1, "date": "yesterday", "rows": []}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": 5, "seconds": [1], "bounds": [{"what": "raw write", "bytes": 5}]}]}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": 5, "seconds": [1], "bounds": [{"what": "raw write", "seconds": [1]}]}]}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": 5, "seconds": [1, 1e300]}]}`,
		`{"version": 1, "date": "2026-11-22T00:00:00Z", "rows": [{"bytes": -5, "seconds": [1]}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadResults(name); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

// TestSaveWhole checks that results never replace older ones, and that a full disk leaves no partial file.
func TestSaveWhole(t *testing.T) {
	mem := vfs.NewMem()
	r := Results{Version: resultsVersion, Date: "2026-11-21T10:11:12Z", Workloads: []string{"check"}, FileSystem: "tmpfs"}
	for _, want := range []string{"2026-11-21-1011-check-tmpfs.json", "2026-11-21-1011-check-tmpfs-2.json"} {
		if name, err := r.save(mem, "d/out"); err != nil || filepath.Base(name) != want {
			t.Fatalf("saved as %s: %v, want %s", name, err, want)
		}
	}
	full := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite {
			return vfs.ErrNoSpace
		}
		return nil
	})
	if _, err := r.save(full, "d/out"); !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("full disk: %v", err)
	}
	if list, err := mem.ReadDir("d/out"); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}
