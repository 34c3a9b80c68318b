package judges

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
)

// nc4Ways are the ways to store netCDF-4, and whether every program reads it.
var nc4Ways = []struct {
	name string
	o    blob.NetCDF4Options
	all  bool
}{
	{"plain", blob.NetCDF4Options{}, true},
	{"deflate", blob.NetCDF4Options{Deflate: 1, ChunkBytes: 64 << 10}, true},
	{"deflate-noshuffle", blob.NetCDF4Options{Deflate: 4, NoShuffle: true}, true},
	{"zstd", blob.NetCDF4Options{Zstd: 3, ChunkBytes: 100000}, false}, // a plugin of HDF5
}

// eachNC4 converts a dataset in one way, another for each dataset; with BLOBIO_LONG=1 in all.
func eachNC4(t *testing.T, d *dataset, f func(t *testing.T, path string, all bool)) {
	t.Helper()
	for k, w := range nc4Ways {
		if os.Getenv("BLOBIO_LONG") == "" && k != crc(d.String()+d.history)%len(nc4Ways) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), filepath.Base(d.canonical))
			from := d.variable
			if w.all {
				from = d.process
			}
			if err := blob.Convert(t.Context(), open(t, from), path, &blob.ConvertOptions{NetCDF4: &w.o, Durability: blob.DurableNone}); err != nil {
				t.Fatal(err)
			}
			f(t, path, w.all)
		})
	}
}

func crc(s string) int { return int(crc32.ChecksumIEEE([]byte(s)) >> 1) }

// TestNetCDF4ByOurselves: by blobio's reader all ways of storing equal the CDF-5 file.
func TestNetCDF4ByOurselves(t *testing.T) {
	each(t, func(t *testing.T, d *dataset) {
		eachNC4(t, d, func(t *testing.T, path string, _ bool) {
			r := open(t, path)
			if !r.Form().NetCDF4 {
				t.Error("not read as netCDF-4")
			}
			back := filepath.Join(t.TempDir(), "back.nc")
			if err := blob.Convert(t.Context(), r, back, &blob.ConvertOptions{Durability: blob.DurableNone}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(contents(t, back), contents(t, d.canonical)) {
				t.Error("converted back it differs from the CDF-5 file")
			}
		})
	})
}

// TestNetCDF4Ncdump: ncdump knows the kind, prints the same header, and nccopy gives the CDF-5 file back, byte for byte.
func TestNetCDF4Ncdump(t *testing.T) {
	need(t, "ncdump", "nccopy")
	each(t, func(t *testing.T, d *dataset) {
		want := run(t, "ncdump", "-h", d.canonical)
		eachNC4(t, d, func(t *testing.T, path string, all bool) {
			if kind := strings.TrimSpace(run(t, "ncdump", "-k", path)); kind != "netCDF-4 classic model" {
				t.Errorf("ncdump says that it is %s", kind)
			}
			if got := run(t, "ncdump", "-h", path); got != want {
				t.Errorf("ncdump prints another header:\n%s", firstLine(got, want))
			}
			if !all {
				return // this netCDF has no zstd
			}
			back := filepath.Join(t.TempDir(), "back.nc")
			run(t, "nccopy", "-k", "cdf5", path, back)
			if !bytes.Equal(contents(t, back), contents(t, d.canonical)) {
				t.Error("nccopy makes another CDF-5 file of it")
			}
		})
	})
}

// firstLine shows the first line that differs.
func firstLine(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("%q, want %q", a[i], b[min(i, len(b)-1)])
		}
	}
	return "it is shorter"
}

// TestNetCDF4Python: every variable, dimension and attribute as netCDF4-python and h5py have them.
func TestNetCDF4Python(t *testing.T) {
	py := python(t, "netCDF4", "h5py", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		want, h := open(t, d.canonical), header(t, d.canonical)
		eachNC4(t, d, func(t *testing.T, path string, all bool) {
			var more []string
			if all {
				a := ask(t, py, "read_netcdf4.py", path)
				a.equals(t, want)
				sameHeader(t, a, h)
			} else {
				python(t, "zstandard", "h5py")
				more = []string{"zstd"}
			}
			a := ask(t, py, "read_scales.py", append([]string{path}, more...)...)
			a.equals(t, want)
			sameHeader(t, a, h)
		})
	})
}

// TestNetCDF4Xarray: every value, with xarray and with h5netcdf.
func TestNetCDF4Xarray(t *testing.T) {
	py := python(t, "xarray", "netCDF4", "h5netcdf")
	some(t, func(t *testing.T, d *dataset) {
		eachNC4(t, d, func(t *testing.T, path string, all bool) {
			if all {
				ask(t, py, "read_xarray.py", path).equals(t, open(t, d.canonical))
				ask(t, py, "read_h5netcdf.py", path).equals(t, open(t, d.canonical))
			}
		})
	})
}

// TestNetCDF4Tools: HDF5's own tools and cdo and ncks find nothing wrong and nothing different.
func TestNetCDF4Tools(t *testing.T) {
	need(t, "h5dump", "h5repack", "h5diff", "h5stat", "cdo", "ncks")
	some(t, func(t *testing.T, d *dataset) {
		eachNC4(t, d, func(t *testing.T, path string, all bool) {
			if out := run(t, "h5dump", "-p", "-H", path); !strings.Contains(out, "DIMENSION_LIST") {
				t.Error("h5dump sees no dimension scales")
			}
			run(t, "h5stat", path)
			if !all {
				return
			}
			copied := filepath.Join(t.TempDir(), "copied.nc")
			run(t, "h5repack", "-f", "NONE", path, copied)
			run(t, "h5diff", path, copied)
			run(t, "nccopy", "-k", "cdf5", copied, copied+".back") // and scales stay scales
			if !bytes.Equal(contents(t, copied+".back"), contents(t, d.canonical)) {
				t.Error("after h5repack it is another file")
			}
			if out := run(t, "cdo", "-s", "diffn", path, d.canonical); strings.TrimSpace(out) != "" {
				t.Errorf("cdo finds differences:\n%s", tail(out))
			}
			f := fieldOf[d.letter]
			r := open(t, d.canonical)
			name := field(t, r, f.flat...)
			out := filepath.Join(t.TempDir(), "one.nc")
			run(t, "ncks", "-O", "-h", "-5", "-C", "-v", name, "-d", f.flat[0]+",0", path, out)
			v, _ := r.Schema().VarID(name)
			start, count := make([]int64, len(f.flat)), shape(r, v)
			start[0], count[0] = 0, 1
			typ := r.Schema().Vars()[v].Type
			same(t, name, little(t, typ, read(t, open(t, out), name, nil, nil)), little(t, typ, read(t, r, name, start, count)), typ.Size())
		})
	})
}

// TestNetCDF4OfOthers: blobio reads files of netCDF and h5netcdf like these libraries.
func TestNetCDF4OfOthers(t *testing.T) {
	need(t, "nccopy")
	some(t, func(t *testing.T, d *dataset) {
		path := filepath.Join(t.TempDir(), filepath.Base(d.canonical))
		run(t, "nccopy", "-k", "nc4", "-d1", "-s", d.canonical, path)
		r := open(t, path)
		for f := range blob.Diff(t.Context(), open(t, d.canonical), r, nil) {
			t.Errorf("%v", f)
		}
		if !r.Form().NetCDF4 {
			t.Error("not read as netCDF-4")
		}
	})
	py := python(t, "h5netcdf", "netCDF4", "numpy")
	path := filepath.Join(t.TempDir(), "h5netcdf.nc")
	script(t, py, "write_h5netcdf.py", path)
	ask(t, py, "read_netcdf4.py", path).equals(t, open(t, path))
	back := filepath.Join(t.TempDir(), "back.nc")
	if err := blob.Convert(t.Context(), open(t, path), back, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := run(t, "ncdump", back), run(t, "ncdump", path); lines(got) != lines(want) {
		t.Errorf("ncdump of the CDF-5 file: %s", firstLine(lines(got), lines(want)))
	}
}

// lines leaves out the name of the file, and the difference between text and strings.
func lines(cdl string) string {
	_, cdl, _ = strings.Cut(cdl, "\n")
	return strings.ReplaceAll(cdl, "\t\tstring ", "\t\t")
}

// odd makes a CDF-5 file of testdata/odd.cdl: with records or without, and with a global attribute of long bytes.
func odd(t *testing.T, records bool, long int) string {
	t.Helper()
	need(t, "ncgen")
	cdl := string(contents(t, filepath.Join("testdata", "odd.cdl")))
	if !records {
		cdl, _, _ = strings.Cut(cdl, "data:")
		cdl += "}\n"
	}
	if long > 0 {
		cdl = strings.Replace(cdl, "// global attributes:", "// global attributes:\n\t\t:much = \""+strings.Repeat("0123456789abcde ", long/16)+"\" ;", 1)
		cdl = strings.Replace(cdl, "\t\ti:a =", "\t\ti:much = "+strings.Repeat("1., ", long/8)+"2. ;\n\t\ti:a =", 1)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "odd.cdl"), filepath.Join(dir, "odd.nc")
	if err := os.WriteFile(in, []byte(cdl), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, "ncgen", "-k", "cdf5", "-o", out, in)
	return out
}

// TestNetCDF4Odd: all types, empty and long attributes, names in UTF-8, variables named like dimensions that are not
// theirs, dimensions without variables, text as a coordinate, no records.
func TestNetCDF4Odd(t *testing.T) {
	need(t, "ncdump", "ncgen", "h5dump", "h5repack", "h5diff")
	py := python(t, "h5py", "numpy")
	for _, c := range []struct {
		name    string
		records bool
		long    int
	}{{"records", true, 0}, {"none", false, 0}, {"long", true, 200000}} {
		for _, w := range nc4Ways[:2] {
			t.Run(c.name+"-"+w.name, func(t *testing.T) {
				from := odd(t, c.records, c.long)
				path := filepath.Join(t.TempDir(), "odd.nc")
				if err := blob.Convert(t.Context(), open(t, from), path, &blob.ConvertOptions{NetCDF4: &w.o}); err != nil {
					t.Fatal(err)
				}
				if kind := strings.TrimSpace(run(t, "ncdump", "-k", path)); kind != "netCDF-4" { // some types are new
					t.Errorf("ncdump says that it is %s", kind)
				}
				want, got := run(t, "ncdump", from), run(t, "ncdump", path)
				if got != want {
					t.Errorf("ncdump prints something else: %s", firstLine(got, want))
				}
				for f := range blob.Diff(t.Context(), open(t, from), open(t, path), nil) {
					t.Errorf("%v", f)
				}
				for f := range blob.Check(t.Context(), path, nil) {
					t.Errorf("%v", f)
				}
				ask(t, py, "read_scales.py", path).equals(t, open(t, from))
				run(t, "h5dump", path)
				copied := filepath.Join(t.TempDir(), "copied.nc")
				run(t, "h5repack", "-L", path, copied) // the oldest format has no long attributes
				run(t, "h5diff", path, copied)
			})
		}
	}
}
