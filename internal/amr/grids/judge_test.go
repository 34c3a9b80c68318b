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
	"blobio/internal/testfiles"
)

// The script prints what yt makes of a mesh: total, extrema and their places, a slice and a projection as pixels, and a covering grid.
const script = `
import json, sys, numpy as np, yt
yt.set_log_level(50)
ds = yt.load(sys.argv[1])
f = ("enzoe", sys.argv[3])
ad = ds.all_data()
v, w = ad[f], ad["index", "cell_volume"]
out = {"cells": int(v.size), "total": float((v * w).sum()), "mean": float((v * w).sum() / w.sum()), "min": float(v.min()), "max": float(v.max())}
rank, n = ds.dimensionality, 64
axis = int(sys.argv[2])
i = int(v.argmax())
out["max_at"] = [float(ad["index", a][i]) for a in "xyz"]
at = float(ds.domain_left_edge[axis] + (ds.domain_right_edge[axis] - ds.domain_left_edge[axis]) * 0.4)
lo, hi = ds.domain_left_edge.d, ds.domain_right_edge.d
xa, ya = [a for a in range(3) if a != axis]
# Pixels are parts of cells here: smooth gives each the value of its cell. Without it yt lets the last cell that touches a pixel win.
def pixels(src, smooth):
    b = yt.FixedResolutionBuffer(src, (lo[xa], hi[xa], lo[ya], hi[ya]), (n, n), antialias=smooth)
    if axis == 1:
        b = yt.FixedResolutionBuffer(src, (lo[ya], hi[ya], lo[xa], hi[xa]), (n, n), antialias=smooth)
        return np.asarray(b[f].d).T
    return np.asarray(b[f].d)
out["slice"] = pixels(ds.slice(axis, at), True).ravel().tolist()
out["at"] = at
if rank == 3:
    out["project"] = pixels(ds.proj(f, axis), True).ravel().tolist()
l = ds.index.max_level
dims = ds.domain_dimensions * np.where(np.arange(3) < rank, 2 ** l, 1)
g = ds.covering_grid(l, ds.domain_left_edge, dims)
out["grid"] = np.asarray(g[f].d).transpose(2, 1, 0).ravel().tolist()
print(json.dumps(out))
`

// TestYT: yt's figures, slices, projections and covering grids of a checkpoint, as WriteYT gives it to yt, are ours.
func TestYT(t *testing.T) {
	py := testfiles.JudgePython(t, "yt")
	for _, c := range []struct {
		rank int
		axis string
		a    int
	}{{2, "2", 2}, {3, "2", 2}, {3, "1", 1}} {
		src, index, leaf := generated(t, c.rank)
		m := meshOf(t, src, index, leaf)
		check, out := filepath.Join(t.TempDir(), "Check"), filepath.Join(t.TempDir(), "yt")
		if err := cello.Write(t.Context(), comm.Self(), check, src.meta, src.list, &cello.Options{Durability: cello.DurableNone}); err != nil {
			t.Fatal(err)
		}
		k, err := cello.Open(t.Context(), check, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		if err := cello.WriteYT(t.Context(), k, out, &cello.YTOptions{Durability: cello.DurableNone}); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%d-D", c.rank)
		cmd := exec.Command(py, "-c", script, filepath.Join(out, "yt.block_list"), c.axis, m.Fields[0].Name)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "HOME="+t.TempDir())
		cmd.Stderr = os.Stderr
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("yt on %s: %v\n%s", what, err, b)
		}
		var yt struct {
			Cells                     int64
			Total, Mean, Min, Max, At float64
			MaxAt                     []float64 `json:"max_at"`
			Slice, Project, Grid      []float64
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
		v := m.NewView(c.a, 64, 64)
		v.W, v.H, v.At = 64, 64, yt.At
		shown, err := m.Slice(t.Context(), 0, v)
		if err != nil {
			t.Fatal(err)
		}
		same(t, what+": slice along "+c.axis, shown.Values, yt.Slice, 1e-9)
		if m.Rank == 3 {
			if shown, err = m.Project(t.Context(), 0, v, Integral); err != nil {
				t.Fatal(err)
			}
			same(t, what+": projection along "+c.axis, shown.Values, yt.Project, 1e-9)
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
