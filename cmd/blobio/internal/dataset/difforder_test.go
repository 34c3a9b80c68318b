package dataset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cdf5/cdftest"
	"blobio/internal/cli"
)

// TestDiffOrder checks that datasets in another order are equal, unless the order counts.
func TestDiffOrder(t *testing.T) {
	dir := t.TempDir()
	num := func(name string, v any) cdf5.Att {
		_, typ, _ := cdf5.SliceLen(v)
		return cdf5.Att{Name: name, Type: typ, Value: v}
	}
	write := func(name string, h *cdf5.Header, values ...any) string {
		path := filepath.Join(dir, name)
		clitest.Check(t, os.WriteFile(path, cdftest.Build(t, h, false, values...), 0o666))
		return path
	}
	x, y := []float64{1, 2, 3, 4, 5, 6}, []float64{7, 8}
	a := write("a.nc", &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "i", Len: 2}, {Name: "j", Len: 3}}, Atts: []cdf5.Att{num("p", []int32{1}), num("q", []float64{2.5})},
		Vars: []cdf5.Var{{Name: "x", Type: cdf5.Double, Dims: []int{0, 1}, Atts: []cdf5.Att{num("u", []int32{1}), num("v", []int32{2})}}, {Name: "y", Type: cdf5.Double, Dims: []int{0}}}}, x, y)
	swapped := func(length int64, q float64) *cdf5.Header {
		return &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "j", Len: 3}, {Name: "i", Len: 2}, {Name: "k", Len: length}}[:2+min(length, 1)], Atts: []cdf5.Att{num("q", []float64{q}), num("p", []int32{1})},
			Vars: []cdf5.Var{{Name: "y", Type: cdf5.Double, Dims: []int{1}}, {Name: "x", Type: cdf5.Double, Dims: []int{1, 0}, Atts: []cdf5.Att{num("v", []int32{2}), num("u", []int32{1})}}}}
	}
	b := write("b.nc", swapped(0, 2.5), y, x)
	clitest.Good(t, "diff", a, b)
	r := clitest.Blobio(t, "diff", "--order", "--all", a, b)
	for _, want := range []string{`dimension "i": position 0 against 1`, `attribute "p": position 0 against 1`, `variable "x": position 0 against 1`, `variable "x": attribute "u": position 0 against 1`} {
		if r.Code != cli.Findings || !strings.Contains(r.Out, want) {
			t.Errorf("exit code %d, want %q in\n%s", r.Code, want, r.Out)
		}
	}
	clitest.Bad(t, cli.Failed, "cannot be combined", "diff", "--order", "--values-only", a, b)

	// Numbers of differences are JSON numbers.
	x[4], y = 5.5, []float64{7, 8}
	c := write("c.nc", swapped(4, -1), y, x)
	r = clitest.Blobio(t, "diff", "--json", a, c)
	var d struct {
		Equal       bool
		Differences []struct {
			Field, Message string
			Numbers        *struct {
				Different, Of int64
				First         []int64
				A, B, Largest any
			}
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
	if d.Equal || len(d.Differences) != 3 || r.Code != cli.Findings {
		t.Fatalf("%s", r.Out)
	}
	k, q, v := d.Differences[0].Numbers, d.Differences[1].Numbers, d.Differences[2].Numbers
	if k == nil || k.A != nil || k.B != 4.0 {
		t.Errorf("dimension k: %+v", k)
	}
	if q == nil || q.A.([]any)[0] != 2.5 || q.B.([]any)[0] != -1.0 {
		t.Errorf("attribute q: %+v", q)
	}
	if v == nil || v.Different != 1 || v.Of != 6 || !slices.Equal(v.First, []int64{1, 1}) || v.A != 5.0 || v.B != 5.5 || v.Largest != 0.5 {
		t.Errorf("values: %+v", v)
	}
}
