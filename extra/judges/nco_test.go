package judges

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/cdf5/cdftest"
)

// fieldOf is a field of horizontal and one of horizontal times level dimensions of a case.
var fieldOf = map[string]struct {
	history     string
	flat, level []string
}{
	"F": {"F_h0", []string{"time", "ncol"}, []string{"time", "lev", "ncol"}},
	"G": {"G", []string{"Time", "nCells"}, []string{"Time", "nCells", "nVertLevels"}},
	"I": {"I_h0", []string{"time", "lat", "lon"}, []string{"time", "levgrnd", "lat", "lon"}},
}

// TestNcksExtracts: one level of a variable.
func TestNcksExtracts(t *testing.T) {
	need(t, "ncks")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		name := field(t, r, f.level...)
		v, _ := r.Schema().VarID(name)
		axis := 1
		if c.letter == "G" {
			axis = 2
		}
		const level = 7
		out := filepath.Join(t.TempDir(), "level.nc")
		run(t, "ncks", "-O", "-h", "-v", name, "-d", fmt.Sprintf("%s,%d", f.level[axis], level), d.canonical, out)
		start, count := make([]int64, len(f.level)), shape(r, v)
		start[axis], count[axis] = level, 1
		k := open(t, out)
		typ := r.Schema().Vars()[v].Type
		if product(count) == 0 {
			t.Fatal("nothing to compare")
		}
		same(t, fmt.Sprint(c, " ", name), little(t, typ, read(t, k, name, nil, nil)), little(t, typ, read(t, r, name, start, count)), typ.Size())
	}
}

// TestNcksExtractsBlob: one rank's blob of a variable, cut out of a subfile by its place.
func TestNcksExtractsBlob(t *testing.T) {
	need(t, "ncks")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.variable)
		name := field(t, r, f.level...)
		id, _ := r.Schema().VarID(name)
		v := r.Schema().Vars()[id]
		path := d.files(d.variable)[d.subfiles-1]
		const record = 0
		place, compared := int64(0), 0
		for b, err := range r.Inspect().Blobs(t.Context(), name, record) {
			if err != nil {
				t.Fatal(err)
			}
			n, _, _ := cdf5.SliceLen(b.Data)
			if b.Subfile != d.subfiles-1 || n == 0 {
				continue
			}
			if compared%3 == 0 { // not all: each is a process
				out := filepath.Join(t.TempDir(), fmt.Sprintf("blob%d.nc", b.Rank))
				run(t, "ncks", "-O", "-h", "-C", "-v", name, "-d", fmt.Sprintf("D%d.nelems,%d,%d", v.Decomp, place, place+int64(n)-1),
					"-d", fmt.Sprintf("%s,%d", f.level[0], record), path, out)
				same(t, fmt.Sprintf("%v %s of rank %d", c, name, b.Rank), cut(t, out, name), little(t, v.Type, b.Data), v.Type.Size())
			}
			place += int64(n)
			compared++
		}
		if compared == 0 {
			t.Errorf("%v: no blobs", c)
		}
	}
}

// cut reads the only record of a variable of a CDF file through the codec alone, since
// one variable of a blob file is not a dataset.
func cut(t *testing.T, path, name string) []byte {
	t.Helper()
	h := header(t, path)
	i := h.VarIndex(name)
	if i < 0 {
		t.Fatalf("%s: no variable %q", path, name)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return little(t, h.Vars[i].Type, cdftest.Values(t, b, i))
}

// near reports whether two means agree: both are sums of up to 10^4 values, rounded to the variable's type.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// means are the means of runs of n elements that lie stride apart, without fill values.
func means(x []float64, n, stride int, fill float64) []float64 {
	out := make([]float64, len(x)/n)
	for i := range out {
		base := i/stride*stride*n + i%stride
		sum, k := 0.0, 0
		for j := range n {
			if v := x[base+j*stride]; v != fill {
				sum += v
				k++
			}
		}
		out[i] = fill
		if k > 0 {
			out[i] = sum / float64(k)
		}
	}
	return out
}

// fillOf is a variable's fill value.
func fillOf(t *testing.T, r *blob.Reader, name string) float64 {
	t.Helper()
	v, _ := r.Schema().VarID(name)
	if a := cdf5.FindAtt(r.Schema().Vars()[v].Atts, "_FillValue"); a != nil {
		return floats(t, a.Value)[0]
	}
	return math.NaN() // nothing is one
}

// TestNcwaMeans: the mean over the horizontal dimensions; ncwa leaves fill values out.
func TestNcwaMeans(t *testing.T) {
	need(t, "ncwa")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		name := field(t, r, f.flat...)
		v, _ := r.Schema().VarID(name)
		out := filepath.Join(t.TempDir(), "mean.nc")
		over := f.flat[1]
		if len(f.flat) == 3 {
			over += "," + f.flat[2]
		}
		run(t, "ncwa", "-O", "-h", "-C", "-v", name, "-a", over, d.canonical, out)
		want := means(floats(t, read(t, r, name, nil, nil)), int(r.Schema().Elems(v)), 1, fillOf(t, r, name))
		closeTo(t, fmt.Sprint(c, " ", name), floats(t, read(t, open(t, out), name, nil, nil)), want)
	}
}

// TestNcraMeans: the mean over the records.
func TestNcraMeans(t *testing.T) {
	need(t, "ncra")
	for _, c := range configs {
		f := fieldOf[c.letter]
		history := f.history
		if c.letter == "F" {
			history = "F_h1" // h0 has one record
		}
		d := one(t, c, history)
		r := open(t, d.canonical)
		if r.Records() < 2 {
			t.Fatalf("%s has %d records", history, r.Records())
		}
		name := field(t, r, f.flat...)
		v, _ := r.Schema().VarID(name)
		out := filepath.Join(t.TempDir(), "mean.nc")
		run(t, "ncra", "-O", "-h", "-C", "-v", name, d.canonical, out)
		want := means(floats(t, read(t, r, name, nil, nil)), int(r.Records()), int(r.Schema().Elems(v)), fillOf(t, r, name))
		closeTo(t, fmt.Sprint(c, " ", name), floats(t, read(t, open(t, out), name, nil, nil)), want)
	}
}

func closeTo(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%s: %d means, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if !near(got[i], want[i]) {
			t.Errorf("%s: mean %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}
