package judges

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/internal/view/serve"
)

// These tests read the blobs of both layouts by URL, and compare with the file that was converted.

// served shows the folder in which the datasets lie, and returns its URL with a slash.
func served(t *testing.T, dir string, o *serve.Options) string {
	t.Helper()
	s, err := serve.New(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h.URL + "/"
}

// urls are a dataset's in both layouts.
func (d *dataset) urls(base, part string) []string {
	return []string{base + part + "/" + filepath.Base(d.variable), base + part + "/" + filepath.Base(d.process)}
}

// TestNetCDF4PythonByURL: every variable, dimension and attribute.
func TestNetCDF4PythonByURL(t *testing.T) {
	py := python(t, "netCDF4", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		if d.float {
			return // xarray and the others read some
		}
		base := served(t, filepath.Dir(d.variable), nil)
		for _, url := range d.urls(base, "dap") {
			a := ask(t, py, "read_netcdf4.py", url)
			a.equals(t, open(t, d.canonical))
			sameByURL(t, a, header(t, d.canonical))
		}
	})
}

// sameByURL compares what a header declares, whatever the order. The library adds attributes, and takes attributes of a variable whose name ends in
// "global" for attributes of the file: the server keeps them back.
func sameByURL(t *testing.T, a *answer, h *cdf5.Header) {
	t.Helper()
	added := func(a foundAtt) bool { return strings.HasPrefix(a.name, "DODS") }
	used := usedDims(h)
	for i, w := range h.Dims {
		length := w.Len
		if length == 0 {
			length = h.NumRecs
		}
		if !slices.Contains(a.Dims, foundDim{w.Name, length, w.Len == 0}) && used[i] {
			t.Errorf("no dimension %v among %v", w, a.Dims)
		}
	}
	sameAtts(t, "the file", slices.DeleteFunc(a.Atts, added), h.Atts)
	for _, g := range a.Vars {
		w := h.Vars[h.VarIndex(g.Name)]
		var names []string
		for _, d := range w.Dims {
			names = append(names, h.Dims[d].Name)
		}
		if !slices.Equal(g.Dims, names) {
			t.Errorf("%s has the dimensions %v, want %v", g.Name, g.Dims, names)
		}
		if strings.HasSuffix(strings.ToLower(g.Name), "global") {
			w.Atts = nil
		}
		sameAtts(t, g.Name, slices.DeleteFunc(g.Atts, added), w.Atts)
	}
}

// usedDims returns the dimensions that variables have.
func usedDims(h *cdf5.Header) []bool {
	used := make([]bool, len(h.Dims))
	for i := range h.Vars {
		for _, d := range h.Vars[i].Dims {
			used[d] = true
		}
	}
	return used
}

// TestXarrayByURL: every value, undecoded; and by byte ranges.
func TestXarrayByURL(t *testing.T) {
	py := python(t, "xarray", "netCDF4")
	some(t, func(t *testing.T, d *dataset) {
		base := served(t, filepath.Dir(d.variable), nil)
		for _, url := range d.urls(base, "dap") {
			ask(t, py, "read_xarray.py", url).equals(t, open(t, d.canonical))
		}
	})
}

func TestXarrayByRanges(t *testing.T) {
	py := python(t, "xarray", "scipy", "fsspec", "aiohttp")
	some(t, func(t *testing.T, d *dataset) {
		base := served(t, filepath.Dir(d.variable), &serve.Options{Version: cdf5.CDF2}) // that scipy knows
		for _, url := range d.urls(base, "files") {
			ask(t, py, "read_ranges.py", url).equals(t, open(t, d.canonical))
		}
	})
}

// TestNcdumpByURL: the text of a file and of its URL, line by line, whatever the order of variables.
func TestNcdumpByURL(t *testing.T) {
	need(t, "ncdump")
	sorted := func(cdl string) []string {
		var out []string
		for line := range strings.Lines(cdl) {
			if !strings.HasPrefix(line, "netcdf ") && !strings.Contains(line, ":DODS") && !strings.Contains(line, "lobal:") && strings.TrimSpace(line) != "" {
				out = append(out, strings.TrimSpace(line))
			}
		}
		slices.Sort(out)
		return out
	}
	some(t, func(t *testing.T, d *dataset) {
		base := served(t, filepath.Dir(d.variable), nil)
		want := sorted(run(t, "ncdump", "-h", d.canonical))
		h := header(t, d.canonical)
		for i, used := range usedDims(h) { // DAP2 has dimensions of variables only
			if !used {
				want = slices.DeleteFunc(want, func(s string) bool { return strings.HasPrefix(s, h.Dims[i].Name+" = ") })
			}
		}
		for _, url := range d.urls(base, "dap") {
			got := sorted(run(t, "ncdump", "-h", url))
			got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "maxStrlen64") }) // the library declares it and does not use it
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("ncdump says %q, want %q", got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
					break
				}
			}
			f := fieldOf[d.letter]
			name := field(t, open(t, d.canonical), f.flat...)
			_, got1, _ := strings.Cut(run(t, "ncdump", "-p", "9,17", "-v", name, url), "\ndata:")
			_, want1, _ := strings.Cut(run(t, "ncdump", "-p", "9,17", "-v", name, d.canonical), "\ndata:")
			if got1 != want1 || len(want1) < 100 {
				t.Errorf("%s: values of %s differ", url, name)
			}
		}
	})
}

// TestNccopyByURL: the copy of a URL has the values of the file.
func TestNccopyByURL(t *testing.T) {
	need(t, "nccopy")
	some(t, func(t *testing.T, d *dataset) {
		base := served(t, filepath.Dir(d.variable), nil)
		want := open(t, d.canonical)
		for i, url := range d.urls(base, "dap") {
			out := filepath.Join(t.TempDir(), fmt.Sprintf("copy%d.nc", i))
			run(t, "nccopy", "-k", "cdf5", url, out)
			copied := open(t, out)
			if len(copied.Schema().Vars()) != len(want.Schema().Vars()) {
				t.Errorf("%d variables, want %d", len(copied.Schema().Vars()), len(want.Schema().Vars()))
			}
			for _, v := range want.Schema().Vars() {
				same(t, v.Name, little(t, v.Type, read(t, copied, v.Name, nil, nil)), little(t, v.Type, read(t, want, v.Name, nil, nil)), v.Type.Size())
			}
		}
	})
}

// TestNcksByURL: a part of a variable, with a stride, that only the server reads.
func TestNcksByURL(t *testing.T) {
	need(t, "ncks")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		name := field(t, r, f.level...)
		axis := 1
		if c.letter == "G" {
			axis = 2
		}
		slab := []string{"-d", fmt.Sprintf("%s,1,13,3", f.level[axis]), "-v", name}
		if c.letter == "F" {
			slab = append(slab, "-d", "ncol,5,800,7")
		}
		base := served(t, filepath.Dir(d.variable), nil)
		local := filepath.Join(t.TempDir(), "local.nc")
		run(t, "ncks", slices.Concat([]string{"-O", "-h"}, slab, []string{d.canonical, local})...)
		want := read(t, open(t, local), name, nil, nil)
		typ := cdf5.Double
		if c.float {
			typ = cdf5.Float
		}
		for _, url := range d.urls(base, "dap") {
			out := filepath.Join(t.TempDir(), "part.nc")
			run(t, "ncks", slices.Concat([]string{"-O", "-h"}, slab, []string{url, out})...)
			same(t, fmt.Sprint(c, " ", name), little(t, typ, read(t, open(t, out), name, nil, nil)), little(t, typ, want), typ.Size())
		}
	}
}

// TestCdoByURL: values of a field, with enough digits to distinguish them.
func TestCdoByURL(t *testing.T) {
	need(t, "cdo")
	for _, c := range configs {
		f := fieldOf[c.letter]
		d := one(t, c, f.history)
		r := open(t, d.canonical)
		name := field(t, r, f.flat...)
		base := served(t, filepath.Dir(d.variable), nil)
		for _, url := range d.urls(base, "dap") {
			cdoValues(t, fmt.Sprint(c, " ", name), run(t, "cdo", "-s", "outputf,%.17g,1", "-selname,"+name, url), read(t, r, name, nil, nil))
		}
	}
}

// TestDamageByURL: tools report damage for the damaged variable and for no other.
func TestDamageByURL(t *testing.T) {
	need(t, "ncdump")
	d := one(t, configs[0], "F_h1")
	dir := t.TempDir()
	for _, path := range append(d.files(d.variable), d.variable+".manifest") {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), contents(t, path), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, d.canonical)
	name := field(t, r, "time", "lev", "ncol")
	part := filepath.Join(dir, filepath.Base(d.files(d.variable)[0]))
	h, b := header(t, part), contents(t, part)
	off, n := h.Extent(h.VarIndex(name), 1)
	b[off+n/2] ^= 4
	if err := os.WriteFile(part, b, 0o666); err != nil {
		t.Fatal(err)
	}
	url := served(t, dir, nil) + "dap/" + filepath.Base(d.variable)
	for _, v := range r.Schema().Vars() {
		out, err := command("ncdump", "-v", v.Name, url).CombinedOutput()
		if (err != nil) != (v.Name == name) {
			t.Errorf("%s: %v\n%s", v.Name, err, tail(string(out)))
		}
	}
}
