package netcdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/amr/cello"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/gen"
	"blobio/internal/base/testfiles"
)

// numbers reads a variable of the form as numbers.
func numbers(t *testing.T, f *File, name string) (shape []int64, out []float64) {
	t.Helper()
	h := f.Header()
	v := h.VarIndex(name)
	if v < 0 {
		t.Fatalf("no variable %s", name)
	}
	for _, d := range h.Vars[v].Dims {
		shape = append(shape, h.Dims[d].Len)
	}
	b := make([]byte, h.Bytes(v))
	if _, err := f.ReadAt(b, h.Vars[v].Begin); err != nil && err != io.EOF {
		t.Fatalf("%s: %v", name, err)
	}
	for ; len(b) > 0; b = b[h.Vars[v].Type.Size():] {
		if h.Vars[v].Type == cdf5.Float {
			out = append(out, float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
		} else {
			out = append(out, math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
	}
	return shape, out
}

// valueOf returns an element of a field of a block in memory.
func valueOf(f *amr.Field, i int) float64 {
	if f.Spec.Type == amr.Float32 {
		return float64(math.Float32frombits(native.Uint32(f.Data[4*i:])))
	}
	return math.Float64frombits(native.Uint64(f.Data[8*i:]))
}

// TestGrids: each cell of a leaf block appears once on the grid of its level, where the coordinates give its centre. All other
// cells are fill values.
func TestGrids(t *testing.T) {
	dirs := generated(t)
	for _, name := range []string{"CheckA-10", "CheckE-05", "CheckP2-05"} {
		dirs[name] = testfiles.Dir(t, "cello", name)
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			k := open(t, dir, nil)
			for i := range k.Meta().Fields {
				gridHolds(t, k, form(t, k, &Part{Grids: true}, 0), i)
			}
		})
	}
}

// gridHolds compares one field on the grids with the blocks.
func gridHolds(t *testing.T, k *cello.Checkpoint, f *File, field int) {
	g, spec := &k.Meta().Geometry, &k.Meta().Fields[field]
	leaves, seen := map[int]int64{}, map[int]int64{}
	if !spec.Type.Float() {
		return
	}
	type array struct {
		shape  []int64
		values []float64
	}
	known := map[string]array{}
	read := func(name string) ([]int64, []float64) {
		a, ok := known[name]
		if !ok {
			a.shape, a.values = numbers(t, f, name)
			known[name] = a
		}
		return a.shape, a.values
	}
	for i, info := range k.Blocks() {
		if !info.Leaf || info.Level < 0 {
			continue
		}
		leaves[info.Level]++
		b, err := k.Block(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		shape, got := read(fmt.Sprintf("%s_%d", spec.Name, info.Level))
		if seen[info.Level] == 0 {
			for _, x := range got {
				if float32(x) != cdf5.FillValue(cdf5.Float).(float32) {
					seen[info.Level]++
				}
			}
		}
		x, along := b.Fields[field], [3][]float64{}
		for a := range g.Rank {
			_, along[a] = read(fmt.Sprintf("%c_%d", 'x'+rune(a), info.Level))
		}
		lo, _ := info.Index.Bounds(g)
		have, ghost := g.Shape(x.Spec, x.Ghosts), [3]int{}
		if x.Ghosts {
			ghost = g.Ghost
		}
		for n := range g.Block[0] * g.Block[1] * g.Block[2] {
			c := [3]int{n % g.Block[0], n / g.Block[0] % g.Block[1], n / g.Block[0] / g.Block[1]}
			at, step := 0, 1
			var faces int // offset of the opposite face; 0 if the field is cell-centred
			to := 0
			for a := 2; a >= 0; a-- {
				at = at*have[a] + c[a] + ghost[a]
			}
			for a := range 3 {
				if spec.Centered[a] {
					faces = step
				}
				step *= have[a]
			}
			for a := g.Rank - 1; a >= 0; a-- {
				cell := info.Index.Coord()[a]*g.Block[a] + c[a]
				to = to*int(shape[g.Rank-1-a]) + cell
				if want := lo[a] + (float64(c[a])+0.5)*g.CellWidth(info.Level)[a]; math.Abs(along[a][cell]-want) > 1e-12*math.Abs(g.Upper[a]-g.Lower[a]) {
					t.Fatalf("level %d: centre %d of axis %d is at %v, want %v", info.Level, cell, a, along[a][cell], want)
				}
			}
			want := valueOf(&x, at)
			if faces > 0 {
				want = (want + valueOf(&x, at+faces)) / 2
				if spec.Type == amr.Float32 {
					want = float64(float32(want))
				}
			}
			if got[to] != want {
				t.Fatalf("%s, level %d, block %s, cell %v: %v, want %v", spec.Name, info.Level, info.Name, c, got[to], want)
			}
		}
	}
	for l, n := range leaves {
		if want := n * int64(g.Block[0]*g.Block[1]*g.Block[2]); seen[l] != want {
			t.Errorf("%s, level %d: %d cells have values, want %d", spec.Name, l, seen[l], want)
		}
	}
}

// TestGridDamage: a damaged block causes errors only at its own rows of cells on the grid of its level. This shows that reads
// touch only the blocks that they need.
func TestGridDamage(t *testing.T) {
	g := gen.Geometry(2, 2, 8, 2, 1)
	tree, err := gen.Shock(&g, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	set := gen.NewSet(tree, 1, gen.Fields(1, amr.Float64), nil)
	list := set.All()
	dir := filepath.Join(t.TempDir(), "Check")
	if err := cello.Write(t.Context(), comm.Self(), dir, set.Meta, list, &cello.Options{Files: 2, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	k := open(t, dir, nil)
	if !k.Blocks()[len(list)-1].Leaf {
		t.Fatal("the last block is no leaf")
	}
	victim := len(list) - 1
	info := k.Blocks()[victim]
	b, err := k.Block(t.Context(), victim)
	if err != nil {
		t.Fatal(err)
	}
	want := form(t, k, &Part{Grids: true}, 0)
	flipIn(t, dir, b.Fields[0].Data)
	f := form(t, open(t, dir, nil), &Part{Grids: true}, 0)
	h := f.Header()
	lo := info.Index.Coord()
	for level := range 3 {
		v := h.VarIndex(fmt.Sprintf("density_%d", level))
		if v < 0 {
			continue
		}
		wide := h.Dims[h.Vars[v].Dims[1]].Len
		for e := range h.Elems(v) {
			x, y := int(e%wide)/g.Block[0], int(e/wide)/g.Block[1]
			bad := level == info.Level && x == lo[0] && y == lo[1]
			var one, right [8]byte
			_, err := f.ReadAt(one[:], h.Vars[v].Begin+8*e)
			if err == io.EOF {
				err = nil
			}
			if bad != errors.Is(err, cello.ErrChecksum) || !bad && err != nil {
				t.Fatalf("level %d, element %d: %v; damaged: %v", level, e, err, bad)
			}
			if _, err := want.ReadAt(right[:], h.Vars[v].Begin+8*e); !bad && (err != nil && err != io.EOF || !bytes.Equal(one[:], right[:])) {
				t.Fatalf("level %d, element %d: other bytes, %v", level, e, err)
			}
		}
	}
}

// TestGridLarge: the grid of a fine level is not held in memory. A grid with more than maxGrid cells has no variables.
func TestGridLarge(t *testing.T) {
	g := gen.Geometry(3, 4, 8, 0, 10)
	tree, err := amr.NewRootTree(&g)
	if err != nil {
		t.Fatal(err)
	}
	for x, l := amr.At(0, [3]int{}), 0; l < 8; l++ {
		if _, err := tree.RefineBalanced(x); err != nil {
			t.Fatal(err)
		}
		x = x.Child([3]int{})
	}
	set := gen.NewSet(tree, 1, gen.Fields(1, amr.Float64), nil)
	dir := filepath.Join(t.TempDir(), "Check")
	if err := cello.Write(t.Context(), comm.Self(), dir, set.Meta, set.All(), &cello.Options{Files: 1, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	f := form(t, open(t, dir, nil), &Part{Grids: true}, 0)
	h := f.Header()
	for level, there := range map[int]bool{7: true, 8: false} { // the grid of level 7 has 4096^3 = 2^36 cells
		v := h.VarIndex(fmt.Sprintf("density_%d", level))
		if (v >= 0) != there {
			t.Fatalf("level %d: %v, want %v", level, v >= 0, there)
		}
		if !there {
			continue
		}
		var b [8]byte
		if _, err := f.ReadAt(b[:], h.Vars[v].Begin+h.Bytes(v)-8); err != nil && err != io.EOF || math.Float64frombits(binary.BigEndian.Uint64(b[:])) != cdf5.FillValue(cdf5.Double) {
			t.Errorf("the last cell: %v, %v", b, err)
		}
	}
}

// TestGridsJudged: xarray and ncdump show the values that h5py finds in the files of Enzo-E.
func TestGridsJudged(t *testing.T) {
	py := testfiles.JudgePython(t, "xarray", "netCDF4", "h5py")
	testfiles.Judge(t, "ncdump")
	const script = `
import glob, sys, h5py, numpy, xarray
d = xarray.open_dataset(sys.argv[1])
rank = d.attrs["rank"]
roots, cells, ghost = (d.attrs[k][:rank] for k in ("root_blocks", "block_cells", "ghost_cells"))
groups = {}
for path in glob.glob(sys.argv[2] + "/*.h5"):
    f = h5py.File(path)
    for name in f:
        groups[name] = f[name]
axes = lambda name: [w.split(":") for w in name[1:].split("_")]
digits = max(len(axes(n)[0][0]) for n in groups)
groups = {n: g for n, g in groups.items() if len(axes(n)[0][0]) == digits}  # from level 0 on
refined = {"B" + "_".join(w[0] + (":" + w[1][:-1] if len(w[1]) > 1 else "") for w in axes(n)) for n in groups if ":" in n}
want = {}
for name, g in groups.items():
    if name in refined:
        continue
    level = max(len(w[1]) if len(w) > 1 else 0 for w in axes(name))
    at = [(int(w[0], 2) << level | int(w[1], 2) if level else int(w[0], 2)) * n for w, n in zip(axes(name), cells)]
    for v in g:
        if not v.startswith("field_"):
            continue
        key = v[6:] + "_%d" % level
        if key not in want:
            want[key] = numpy.full([(r << level) * n for r, n in zip(roots, cells)][::-1], numpy.nan)
        a = g[v][()]
        if a.shape != tuple(cells[::-1]):
            a = a[tuple(slice(k, -k) for k in ghost[::-1])]
        want[key][tuple(slice(i, i + n) for i, n in zip(at, cells))[::-1]] = a
bad = [k for k in want if not numpy.array_equal(d[k].values, want[k], equal_nan=True)]
centre = [abs(d["x_%d" % l].values - (d.attrs["domain_lower"][0] + (numpy.arange(n) + .5) * (d.attrs["domain_upper"][0] - d.attrs["domain_lower"][0]) / n)).max() < 1e-12
          for l in range(9) if "x_%d" % l in d for n in [d.sizes["x_%d" % l]]]
print(len(want), bad, all(centre))
`
	for name, want := range map[string]string{"CheckA-10": "24 [] True", "CheckE-05": "3 [] True", "CheckP2-05": "20 [] True"} {
		dir := testfiles.Dir(t, "cello", name)
		path := filepath.Join(t.TempDir(), "mesh.nc")
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if err := form(t, open(t, dir, nil), &Part{Grids: true}, 0).WriteTo(t.Context(), out, 0, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(testfiles.Run(t, py, "-c", script, path, dir)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		head := testfiles.Run(t, "ncdump", "-h", path)
		for _, line := range []string{`x_0:axis = "X" ;`, `x_0:units = "code units" ;`, "density_0:_FillValue = 9.96920996838687e+36 ;"} {
			if !strings.Contains(head, line) {
				t.Errorf("%s: ncdump has no %q", name, line)
			}
		}
	}
}
