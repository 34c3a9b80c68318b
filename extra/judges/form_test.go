//go:build linux && !386 && !arm

package judges

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/amr/cello"
	"blobio/comm"
	"blobio/internal/amr/netcdf"
	"blobio/internal/base/testfiles"
	"blobio/internal/view/mount"
	"blobio/versioned"
)

// formed is a directory with a checkpoint of Enzo-E and an array with versions, and their conversions to netCDF.
type formed struct {
	dir         string
	check, mesh string // a checkpoint, converted
	store, rho  string // a store, its array converted
}

// shown are the names of the netCDF forms below the directory.
func (f *formed) shown() map[string]string {
	return map[string]string{"run/Check-10.nc": f.mesh, "store/rho.nc": f.rho}
}

func newFormed(t *testing.T) *formed {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	f := &formed{dir: dir, check: filepath.Join(dir, "run", "Check-10"), mesh: filepath.Join(out, "mesh.nc"), store: filepath.Join(dir, "store"), rho: filepath.Join(out, "rho.nc")}
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	check(os.CopyFS(f.check, os.DirFS(testfiles.Dir(t, "cello", "CheckA-10"))))
	k, err := cello.Open(t.Context(), f.check, nil)
	check(err)
	defer k.Close()
	form, err := netcdf.New(t.Context(), k, &netcdf.Part{Grids: true}, 0)
	check(err)
	mesh, err := os.Create(f.mesh)
	check(err)
	defer mesh.Close()
	check(form.WriteTo(t.Context(), mesh, 0, nil))
	check(cello.WriteYT(t.Context(), k, filepath.Join(dir, "yt"), &cello.Options{Fields: []string{"density"}, NoSync: true}))
	check(os.Mkdir(f.store, 0o777))
	for n := range 3 {
		f.commit(t, float64(n+1))
	}
	f.convert(t)
	return f
}

// commit adds a version to the array: 20x30 numbers, the first one x.
func (f *formed) commit(t *testing.T, x float64) {
	t.Helper()
	if err := comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		o := &versioned.Options{Durability: versioned.DurableNone, Compress: true}
		a, err := versioned.Open(ctx, c, &versioned.Store{Dir: f.store}, "rho", o)
		if errors.Is(err, versioned.ErrMissing) {
			a, err = versioned.Create(ctx, c, &versioned.Store{Dir: f.store}, versioned.Spec{Name: "rho", Type: versioned.TypeOf[float64](), Shape: []int64{20, 30}, Chunk: 512}, o)
		}
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			data := make([]float64, 600)
			for i := range data {
				data[i] = x + float64(i)/3
			}
			err = versioned.Put(ctx, a, []int64{0, 0}, []int64{20, 30}, data)
		}
		if err == nil {
			_, err = a.Inc(ctx, 1, strings.Repeat("step ", int(x)))
		}
		return errors.Join(err, a.Close(ctx))
	}); err != nil {
		t.Fatal(err)
	}
}

// convert writes the array as it is now.
func (f *formed) convert(t *testing.T) {
	t.Helper()
	v, err := versioned.OpenView(filepath.Join(f.store, "rho"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	file, err := v.NetCDF(0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(f.rho)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := file.WriteTo(t.Context(), out, 0, nil); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestMountedForms: a checkpoint of Enzo-E and an array with versions are netCDF files of a mount, with the bytes that the conversions write; the
// files that they are made of are there, too.
func TestMountedForms(t *testing.T) {
	need(t, "cmp", "ncdump", "ncvalidator", "nccopy")
	f := newFormed(t)
	at := mountedFrom(t, f.dir, nil)
	for name, want := range f.shown() {
		path := filepath.Join(at, name)
		run(t, "cmp", path, want)
		if got, want := run(t, "ncdump", "-n", "x", "-p", "9,17", path), run(t, "ncdump", "-n", "x", "-p", "9,17", want); got != want || len(got) < 1000 {
			t.Errorf("ncdump %s: %d characters, want %d", name, len(got), len(want))
		}
		if out := run(t, "ncvalidator", path); !strings.Contains(out, "is a valid NetCDF classic CDF-5 file") {
			t.Errorf("%s", out)
		}
		copied := filepath.Join(t.TempDir(), "copied.nc")
		run(t, "nccopy", "-k", "cdf5", path, copied)
		run(t, "cmp", copied, want)
	}
	for _, name := range names(t, f.check) {
		run(t, "cmp", filepath.Join(at, "run", "Check-10", name), filepath.Join(f.check, name))
	}
}

// TestMountedFormsNcks: a version, and a field of some blocks, cut out by NCO.
func TestMountedFormsNcks(t *testing.T) {
	need(t, "ncks")
	f := newFormed(t)
	at := mountedFrom(t, f.dir, nil)
	for name, what := range map[string][]string{"store/rho.nc": {"-v", "rho,version_label", "-d", "version,2", "-d", "dim_1,3,20,2"}, "run/Check-10.nc": {"-v", "field_density,block_level", "-d", "block,5,9"}} {
		dir := t.TempDir()
		got, want := filepath.Join(dir, "got.nc"), filepath.Join(dir, "want.nc")
		run(t, "ncks", append(append([]string{"-O", "-h"}, what...), filepath.Join(at, name), got)...)
		run(t, "ncks", append(append([]string{"-O", "-h"}, what...), f.shown()[name], want)...)
		run(t, "cmp", got, want)
	}
}

// TestMountedFormsXarray: every variable, as xarray has it.
func TestMountedFormsXarray(t *testing.T) {
	py := python(t, "xarray", "netCDF4", "scipy")
	f := newFormed(t)
	at := mountedFrom(t, f.dir, nil)
	for name, want := range f.shown() {
		ask(t, py, "read_xarray.py", filepath.Join(at, name)).equals(t, open(t, want))
	}
}

// TestMountedFormsYT: yt reads its directory through a mount as it does without one.
func TestMountedFormsYT(t *testing.T) {
	py := python(t, "yt")
	f := newFormed(t)
	at := mountedFrom(t, f.dir, nil)
	cells := func(dir string) string {
		return run(t, py, filepath.Join("..", "..", "amr", "cello", "testdata", "yt_cells.py"), filepath.Join(dir, "yt", "yt.block_list"), "density")
	}
	if got, want := cells(at), cells(f.dir); got != want || len(got) < 1000 {
		t.Errorf("%d characters through the mount, want %d", len(got), len(want))
	}
}

// TestMountedFormsOnly: where other files are hidden, so are the directories of what has a netCDF form. A version that is committed appears, and who has
// the file open keeps what it was.
func TestMountedFormsOnly(t *testing.T) {
	f := newFormed(t)
	at := mountedFrom(t, f.dir, &mount.Options{OnlyDatasets: true})
	if got := names(t, filepath.Join(at, "run")); !slices.Equal(got, []string{"Check-10.nc"}) {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(at, "run", "Check-10", "check.file_list")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a hidden file: %v", err)
	}
	path := filepath.Join(at, "store", "rho.nc")
	before := contents(t, f.rho)
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	f.commit(t, 7)
	f.convert(t)
	want := contents(t, f.rho)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if got := contents(t, path); slices.Equal(got, want) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%d bytes, want %d", len(got), len(want))
		}
	}
	b := make([]byte, len(before))
	if n, err := old.ReadAt(b, 0); n != len(before) || !slices.Equal(b, before) {
		t.Errorf("the file that was open: %d bytes, %v", n, err)
	}
}

// TestFormsByURL: every variable, as Zarr; and the array by OPeNDAP, as NCO has it.
func TestFormsByURL(t *testing.T) {
	py := python(t, "zarr", "fsspec", "aiohttp")
	need(t, "ncks")
	word := "zarr"
	if strings.HasPrefix(run(t, py, "-c", "import zarr; print(zarr.__version__)"), "3") {
		word = "zarr3"
	}
	f := newFormed(t)
	base := served(t, f.dir, nil)
	for name, want := range f.shown() {
		r := open(t, want)
		ask(t, py, "read_zarr.py", base+word+"/"+name).chars(r).equals(t, r)
	}
	out := filepath.Join(t.TempDir(), "out.nc")
	run(t, "ncks", "-O", "-h", "-5", "-v", "rho", "-d", "version,1,3", base+"dap/store/rho.nc", out)
	got, want := open(t, out), open(t, f.rho)
	start, count := []int64{1, 0, 0}, []int64{3, 20, 30}
	if !slices.Equal(read(t, got, "rho", nil, nil).([]float64), read(t, want, "rho", start, count).([]float64)) {
		t.Error("other elements by OPeNDAP")
	}
}
