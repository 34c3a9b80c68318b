package judges

import (
	"math"
	"slices"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// TestNetCDF4PythonReadsCanonical: every variable, dimension and attribute.
func TestNetCDF4PythonReadsCanonical(t *testing.T) {
	py := python(t, "netCDF4", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		a := ask(t, py, "read_netcdf4.py", d.canonical)
		a.equals(t, open(t, d.canonical))
		sameHeader(t, a, header(t, d.canonical))
	})
}

// TestNetCDF4PythonReadsBlobs: the blob files as the ordinary netCDF files that they are too.
func TestNetCDF4PythonReadsBlobs(t *testing.T) {
	py := python(t, "netCDF4", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.files(d.variable) {
			sameHeader(t, ask(t, py, "read_netcdf4.py", path), header(t, path))
		}
	})
}

// sameHeader compares dimensions, attributes, and variables but for their values.
func sameHeader(t *testing.T, a *answer, h *cdf5.Header) {
	t.Helper()
	if len(a.Dims) != len(h.Dims) || len(a.Vars) != len(h.Vars) {
		t.Errorf("found %d dimensions and %d variables, want %d and %d", len(a.Dims), len(a.Vars), len(h.Dims), len(h.Vars))
		return
	}
	for i, w := range h.Dims {
		length := w.Len
		if length == 0 {
			length = h.NumRecs
		}
		if g := a.Dims[i]; g != (foundDim{w.Name, length, w.Len == 0}) {
			t.Errorf("found dimension %v, want %v", g, w)
		}
	}
	sameAtts(t, "the file", a.Atts, h.Atts)
	for i := range h.Vars {
		g, w := a.Vars[i], &h.Vars[i]
		var names []string
		for _, d := range w.Dims {
			names = append(names, h.Dims[d].Name)
		}
		if g.Name != w.Name || g.Type != numpy[w.Type] || !slices.Equal(g.Dims, names) {
			t.Errorf("variable %d is %s %s %v, want %s %s %v", i, g.Type, g.Name, g.Dims, numpy[w.Type], w.Name, names)
		}
		sameAtts(t, w.Name, g.Atts, w.Atts)
	}
}

// TestXarrayReadsCanonical: every value, undecoded.
func TestXarrayReadsCanonical(t *testing.T) {
	py := python(t, "xarray", "netCDF4")
	each(t, func(t *testing.T, d *dataset) {
		ask(t, py, "read_xarray.py", d.canonical).equals(t, open(t, d.canonical))
	})
}

// TestXarrayReadsBlobs: a variable of a blob file is the blobs of its ranks, one after the other.
func TestXarrayReadsBlobs(t *testing.T) {
	py := python(t, "xarray", "netCDF4")
	some(t, func(t *testing.T, d *dataset) {
		r := open(t, d.variable)
		for i, path := range d.files(d.variable) {
			a := ask(t, py, "read_xarray.py", path)
			if len(a.Vars) != 5*r.Schema().NumDecomps()+len(r.Schema().Vars()) {
				t.Errorf("%d variables", len(a.Vars))
			}
			compared := 0
			for _, v := range r.Schema().Vars() {
				if v.Decomp == 0 {
					continue
				}
				same(t, v.Name, a.raw[v.Name], blobs(t, r, i, &v), v.Type.Size())
				compared++
			}
			if compared == 0 {
				t.Error("nothing compared")
			}
		}
	})
}

// blobs are the blobs of a variable in a subfile, all records, little-endian.
func blobs(t *testing.T, r *blob.Reader, subfile int, v *blob.Variable) (out []byte) {
	t.Helper()
	records := int64(1)
	if v.Record {
		records = r.Records()
	}
	for rec := range records {
		for b, err := range r.Inspect().Blobs(t.Context(), v.Name, rec) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Subfile == subfile {
				out = append(out, little(t, v.Type, b.Data)...)
			}
		}
	}
	return out
}

// TestXarrayMasks: elements that no rank owns are fill values, which xarray takes for NaN.
func TestXarrayMasks(t *testing.T) {
	py := python(t, "xarray", "netCDF4")
	for _, c := range []config{{"I", false, 2}, {"I", true, 1}} {
		d := one(t, c, "I_h0")
		r := open(t, d.canonical)
		name := field(t, r, "time", "lat", "lon")
		a := ask(t, py, "read_xarray.py", d.canonical, name)
		v, _ := r.Schema().VarID(name)
		att := cdf5.FindAtt(r.Schema().Vars()[v].Atts, "_FillValue")
		if att == nil {
			t.Fatalf("%s has no _FillValue", name)
		}
		fill := floats(t, att.Value)[0]
		values, masked := floats(t, read(t, r, name, nil, nil)), 0
		for i, x := range values {
			if x == fill {
				values[i] = math.NaN()
				masked++
			}
		}
		cov, err := open(t, d.variable).Coverage(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := cov.Uncovered * r.Records(); int64(masked) != want || want == 0 {
			t.Errorf("%d elements are fill values, want %d", masked, want)
		}
		got := make([]float64, len(values))
		typ := cdf5.Double
		if a.Vars[0].Type == "f4" {
			typ = cdf5.Float
		}
		if err := cdf5.FromFile(got, a.raw[name], false, typ); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != values[i] && !(math.IsNaN(got[i]) && math.IsNaN(values[i])) {
				t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], values[i])
			}
		}
	}
}

// TestRebuildVariableCentric: an independent script rebuilds the canonical arrays from the blobs.
func TestRebuildVariableCentric(t *testing.T) {
	py := python(t, "netCDF4", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		ask(t, py, "rebuild_variable.py", d.files(d.variable)...).equals(t, open(t, d.variable))
	})
}
