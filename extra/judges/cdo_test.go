package judges

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// Cdo knows grids. It takes for a grid the last dimensions of F (ncol) and
// I (lat, lon), of a two-dimensional field of G, and of the blobs of a
// decomposition over horizontal dimensions.

// TestCdoValues: values of a field, with enough digits to distinguish them.
func TestCdoValues(t *testing.T) {
	need(t, "cdo")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		name := field(t, r, f.flat...)
		out := run(t, "cdo", "-s", "outputf,%.17g,1", "-selname,"+name, d.canonical)
		cdoValues(t, fmt.Sprint(c, " ", name), out, read(t, r, name, nil, nil))
		if c.letter == "G" {
			continue // its levels are the last dimension
		}
		name = field(t, r, f.level...)
		v, _ := r.Schema().VarID(name)
		const level = 7
		start, count := make([]int64, len(f.level)), shape(r, v)
		start[1], count[1] = level, 1
		out = run(t, "cdo", "-s", "outputf,%.17g,1", fmt.Sprintf("-sellevidx,%d", level+1), "-selname,"+name, d.canonical)
		cdoValues(t, fmt.Sprint(c, " ", name), out, read(t, r, name, start, count))
	}
}

// TestCdoReadsBlobs: a variable of a blob file is a field on a grid without shape.
func TestCdoReadsBlobs(t *testing.T) {
	need(t, "cdo")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.variable)
		name := field(t, r, f.flat...)
		v, _ := r.Schema().VarID(name)
		for i, path := range d.files(d.variable) {
			typ := r.Schema().Vars()[v].Type
			raw := blobs(t, r, i, &r.Schema().Vars()[v])
			want := cdf5.NewSlice(typ, len(raw)/typ.Size())
			if err := cdf5.FromFile(want, raw, false, typ); err != nil {
				t.Fatal(err)
			}
			cdoValues(t, fmt.Sprintf("%v %s in subfile %d", c, name, i), run(t, "cdo", "-s", "outputf,%.17g,1", "-selname,"+name, path), want)
		}
	}
}

func cdoValues(t *testing.T, what, out string, v any) {
	t.Helper()
	got, want := strings.Fields(out), floats(t, v)
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%s: cdo prints %d values, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if x, err := strconv.ParseFloat(got[i], 64); err != nil || x != want[i] {
			t.Errorf("%s: cdo says that element %d is %s, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// TestCdoInfo: size, missing values, minimum, mean and maximum of every record and level.
func TestCdoInfo(t *testing.T) {
	need(t, "cdo")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		names := f.level
		if c.letter == "G" {
			names = f.flat
		}
		name := field(t, r, names...)
		lines := strings.Split(strings.TrimSpace(run(t, "cdo", "-s", "infon", "-selname,"+name, d.canonical)), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "Parameter name") }) // a heading before each record
		cdoInfo(t, fmt.Sprint(c, " ", name), r, name, lines)
	}
}

func cdoInfo(t *testing.T, what string, r *blob.Reader, name string, lines []string) {
	t.Helper()
	x, fill := floats(t, read(t, r, name, nil, nil)), fillOf(t, r, name)
	n := len(x) / max(len(lines), 1)
	if len(lines) == 0 || n*len(lines) != len(x) {
		t.Errorf("%s: cdo info has %d lines for %d elements", what, len(lines), len(x))
		return
	}
	for i, line := range lines {
		// "1 : date time level size missing : min mean max : name"
		part := strings.Split(strings.ReplaceAll(line, " :", " | "), "|")
		if len(part) < 4 {
			t.Errorf("%s: cdo info says %q", what, line)
			return
		}
		left, right := strings.Fields(part[1]), strings.Fields(part[2])
		lo, hi, sum, missing := math.Inf(1), math.Inf(-1), 0.0, 0
		for _, v := range x[i*n : (i+1)*n] {
			if v == fill {
				missing++
				continue
			}
			lo, hi, sum = min(lo, v), max(hi, v), sum+v
		}
		want := []float64{lo, sum / float64(n-missing), hi}
		if len(left) != 5 || left[3] != strconv.Itoa(n) || left[4] != strconv.Itoa(missing) || len(right) != len(want) {
			t.Errorf("%s: cdo info says %q, want size %d and %d missing", what, line, n, missing)
			return
		}
		for k, s := range right {
			if v, err := strconv.ParseFloat(s, 64); err != nil || math.Abs(v-want[k]) > 1e-4*math.Abs(want[k]) { // 5 digits
				t.Errorf("%s: cdo info says %q, want %v", what, line, want)
				return
			}
		}
	}
}
