package grids

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"blobio/amr/cello"
	"blobio/comm"
	"blobio/internal/base/testfiles"
)

// The script prints yt's figures for a mesh: total, extrema and their places, and a covering grid.
const script = `
import json, sys, numpy as np, yt
yt.set_log_level(50)
ds = yt.load(sys.argv[1])
f = ("enzoe", sys.argv[2])
ad = ds.all_data()
v, w = ad[f], ad["index", "cell_volume"]
out = {"cells": int(v.size), "total": float((v * w).sum()), "mean": float((v * w).sum() / w.sum()), "min": float(v.min()), "max": float(v.max())}
rank = ds.dimensionality
i = int(v.argmax())
out["max_at"] = [float(ad["index", a][i]) for a in "xyz"]
l = ds.index.max_level
dims = ds.domain_dimensions * np.where(np.arange(3) < rank, 2 ** l, 1)
g = ds.covering_grid(l, ds.domain_left_edge, dims)
out["grid"] = np.asarray(g[f].d).transpose(2, 1, 0).ravel().tolist()
print(json.dumps(out))
`

// TestYT: for an export of WriteYT, this package computes the same totals, extrema and covering
// grids as yt.
func TestYT(t *testing.T) {
	py := testfiles.JudgePython(t, "yt")
	for _, rank := range []int{2, 3} {
		src, index, leaf := generated(t, rank)
		m := meshOf(t, src, index, leaf)
		check, out := filepath.Join(t.TempDir(), "Check"), filepath.Join(t.TempDir(), "yt")
		if err := cello.Write(t.Context(), comm.Self(), check, src.meta, src.list, &cello.Options{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		k, err := cello.Open(t.Context(), check, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		if err := cello.WriteYT(t.Context(), k, out, &cello.Options{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%d-D", rank)
		cmd := exec.Command(py, "-c", script, filepath.Join(out, "yt.block_list"), m.Fields[0].Name)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "HOME="+t.TempDir())
		cmd.Stderr = os.Stderr
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("yt on %s: %v\n%s", what, err, b)
		}
		var yt struct {
			Cells                 int64
			Total, Mean, Min, Max float64
			MaxAt                 []float64 `json:"max_at"`
			Grid                  []float64
		}
		if err := json.Unmarshal(b, &yt); err != nil {
			t.Fatal(err)
		}
		s, err := m.Stats(t.Context(), []int{0}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if x := &s[0]; x.Cells != yt.Cells || x.Min != yt.Min || x.Max != yt.Max || !near(x.Total, yt.Total) || !near(x.Mean, yt.Mean) || !near(x.MaxAt.At[0], yt.MaxAt[0]) || !near(x.MaxAt.At[1], yt.MaxAt[1]) {
			t.Errorf("%s: ours %+v, yt %+v", what, *x, yt)
		}
		lo, hi := m.Lower, m.Upper
		f, err := m.Fill(t.Context(), 0, m.Finest(), m.Region(m.Finest(), lo, hi))
		if err != nil {
			t.Fatal(err)
		}
		same(t, what+": covering grid", f.Values, yt.Grid, 0)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

func same(t *testing.T, what string, got, want []float64, rel float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	bad := 0
	for i := range got {
		if math.Abs(got[i]-want[i]) > rel*math.Abs(want[i]) {
			if bad++; bad == 1 {
				t.Errorf("%s: value %d is %v, yt has %v", what, i, got[i], want[i])
			}
		}
	}
	if bad > 1 {
		t.Errorf("%s: %d of %d values differ", what, bad, len(got))
	}
}
