package judges

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/decomp"
	"blobio/decomp/mapfile"
)

// mapFile writes the maps of a case.
func mapFile(t *testing.T, letter, ext string, write func(io.Writer, *mapfile.File, *mapfile.WriteOptions) error) (string, []*decomp.Map) {
	t.Helper()
	m, err := maps(letter)
	if err != nil {
		t.Fatal(err)
	}
	f, err := mapfile.FromMaps(m...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "map"+ext)
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(out, f, nil); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path, m
}

// sameMaps compares the lists and the dimensions that a script read with the maps.
func sameMaps(t *testing.T, a *answer, maps []*decomp.Map) {
	t.Helper()
	for k, m := range maps {
		var nreqs, offsets, lengths []int32
		for r := range m.Ranks() {
			nreqs = append(nreqs, int32(m.NumReqs(r)))
			for q := range m.Reqs(r) {
				offsets, lengths = append(offsets, int32(q.Offset)), append(lengths, int32(q.Length))
			}
		}
		for name, want := range map[string][]int32{"nreqs": nreqs, "offsets": offsets, "lengths": lengths} {
			name = fmt.Sprintf("D%d.%s", k+1, name)
			b, err := binary.Append(nil, binary.LittleEndian, want)
			if err != nil {
				t.Fatal(err)
			}
			same(t, name, a.raw[name], b, 4)
		}
		name := fmt.Sprintf("D%d.dims", k+1)
		i := slices.IndexFunc(a.Atts, func(x foundAtt) bool { return x.name == name })
		if i < 0 || strings.Join(a.Atts[i].values, " ") != strings.Trim(fmt.Sprint(m.Dims()), "[]") {
			t.Errorf("%s is missing or not %v", name, m.Dims())
		}
	}
}

// TestMapsCDF: the maps of every case in a CDF file.
func TestMapsCDF(t *testing.T) {
	for _, letter := range []string{"F", "G", "I"} {
		t.Run(letter, func(t *testing.T) {
			path, m := mapFile(t, letter, ".nc", mapfile.WriteCDF)
			t.Run("ncvalidator", func(t *testing.T) { run(t, "ncvalidator", path) })
			t.Run("ncdump", func(t *testing.T) {
				need(t, "ncdump")
				for k := range m {
					name := fmt.Sprintf("D%d.nreqs", k+1)
					_, out, _ := strings.Cut(run(t, "ncdump", "-v", name, path), "\ndata:\n")
					_, out, ok := strings.Cut(out, " "+name+" = ")
					out, _, _ = strings.Cut(out, ";")
					var want []string
					for r := range m[k].Ranks() {
						want = append(want, fmt.Sprint(m[k].NumReqs(r)))
					}
					if got := strings.FieldsFunc(out, func(c rune) bool { return strings.ContainsRune(", \n", c) }); !ok || !slices.Equal(got, want) {
						t.Errorf("%s is %v, want %v", name, got, want)
					}
				}
			})
			t.Run("netCDF4", func(t *testing.T) {
				sameMaps(t, ask(t, python(t, "netCDF4", "numpy"), "read_netcdf4.py", path), m)
			})
		})
	}
}

// TestMapsHDF5: the maps of every case in an HDF5 file.
func TestMapsHDF5(t *testing.T) {
	for _, letter := range []string{"F", "G", "I"} {
		t.Run(letter, func(t *testing.T) {
			path, m := mapFile(t, letter, ".h5", mapfile.WriteHDF5)
			t.Run("h5dump", func(t *testing.T) {
				need(t, "h5dump")
				for k := range m {
					name := fmt.Sprintf("D%d.lengths", k+1)
					raw := filepath.Join(t.TempDir(), "raw")
					run(t, "h5dump", "-b", "LE", "-o", raw, "-d", "/"+name, path)
					var want []byte
					for r := range m[k].Ranks() {
						for q := range m[k].Reqs(r) {
							want = binary.LittleEndian.AppendUint32(want, uint32(q.Length))
						}
					}
					same(t, name, contents(t, raw), want, 4)
				}
			})
			t.Run("h5py", func(t *testing.T) {
				sameMaps(t, ask(t, python(t, "h5py", "numpy"), "read_h5py.py", path), m)
			})
		})
	}
}

// TestMapsCopied: a copy of a map file as others make it, without the dimension that no variable has.
func TestMapsCopied(t *testing.T) {
	path, m := mapFile(t, "G", ".nc", mapfile.WriteCDF)
	dir := t.TempDir()
	same := func(name string) {
		t.Helper()
		f, err := mapfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Maps) != len(m) {
			t.Fatalf("%s: %d maps, want %d", name, len(f.Maps), len(m))
		}
		for k := range m {
			if !slices.Equal(f.Maps[k].Reqs.Dims(), m[k].Dims()) {
				t.Errorf("%s: D%d is of %v, want %v", name, k+1, f.Maps[k].Reqs.Dims(), m[k].Dims())
			}
			for r := range m[k].Ranks() {
				if !slices.Equal(slices.Collect(f.Maps[k].Reqs.Reqs(r)), slices.Collect(m[k].Reqs(r))) {
					t.Errorf("%s: D%d: other requests of rank %d", name, k+1, r)
				}
			}
		}
	}
	t.Run("ncks", func(t *testing.T) {
		need(t, "ncks")
		out := filepath.Join(dir, "ncks.nc")
		run(t, "ncks", "-O", "-h", path, out)
		same(out)
	})
	t.Run("xarray", func(t *testing.T) {
		py := python(t, "xarray", "netCDF4")
		for _, format := range []string{"NETCDF3_64BIT", "NETCDF4"} {
			out := filepath.Join(dir, format+".nc")
			run(t, py, "-c", "import sys, xarray; xarray.open_dataset(sys.argv[1]).to_netcdf(sys.argv[2], format=sys.argv[3])", path, out, format)
			same(out)
		}
	})
}
