package judges

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/view/serve"
	"blobio/internal/view/zarr"
)

// zarrSite shows a directory over HTTP for the time of the test, with chunks so small that variables have several, and returns its URL with a slash.
func zarrSite(t *testing.T, dir string) (url string) {
	t.Helper()
	return served(t, dir, &serve.Options{ZarrChunk: 100_000})
}

// zarrURL returns the URL of a history as Zarr: variable-centric if it has several subfiles, process-centric if it has one.
func zarrURL(t *testing.T, word string, d *dataset) string {
	t.Helper()
	base := d.variable
	if d.subfiles == 1 {
		base = d.process
	}
	return zarrSite(t, made.dir) + word + "/" + filepath.Base(base)
}

// chars converts bytes to the chars that they are in netCDF: Zarr 3 has no type for chars.
func (a *answer) chars(r *blob.Reader) *answer {
	for i := range a.Vars {
		if v, ok := r.Schema().VarID(a.Vars[i].Name); ok && r.Schema().Vars()[v].Type == cdf5.Char && a.Vars[i].Type == "u1" {
			a.Vars[i].Type = numpy[cdf5.Char]
		}
	}
	return a
}

// TestZarrPythonReads: every variable of both layouts over HTTP, without a conversion.
func TestZarrPythonReads(t *testing.T) {
	py := python(t, "zarr", "fsspec", "aiohttp")
	word := "zarr"
	if strings.HasPrefix(run(t, py, "-c", "import zarr; print(zarr.__version__)"), "3") {
		word = "zarr3"
	}
	each(t, func(t *testing.T, d *dataset) {
		r := open(t, d.canonical)
		ask(t, py, "read_zarr.py", zarrURL(t, word, d)).chars(r).equals(t, r)
	})
}

// TestXarrayReadsZarr: decoded, with NaN for what is missing and text for chars, each variable is what xarray makes of the converted file.
func TestXarrayReadsZarr(t *testing.T) {
	py := python(t, "xarray", "zarr", "fsspec", "aiohttp", "netCDF4")
	some(t, func(t *testing.T, d *dataset) {
		names := varNames(open(t, d.canonical))
		got, want := ask(t, py, "read_xarray.py", append([]string{zarrURL(t, "zarr", d), "--engine=zarr"}, names...)...), ask(t, py, "read_xarray.py", append([]string{d.canonical}, names...)...)
		if len(got.Vars) != len(names) {
			t.Errorf("%d variables, want %d", len(got.Vars), len(names))
		}
		for i, v := range want.Vars {
			if g := got.Vars[i]; fmt.Sprint(g) != fmt.Sprint(v) || string(got.raw[v.Name]) != string(want.raw[v.Name]) {
				t.Errorf("%s is %v, want %v, or has other values", v.Name, g, v)
			}
		}
	})
}

// TestDaskMeans: dask with threads and with processes.
func TestDaskMeans(t *testing.T) {
	py := python(t, "xarray", "dask", "zarr", "fsspec", "aiohttp")
	some(t, func(t *testing.T, d *dataset) {
		r := open(t, d.canonical)
		name := pick(t, r, "double variable of two dimensions or more", func(v *blob.Variable) bool {
			return v.Record && len(v.Dims) > 1 && v.Type == cdf5.Double || v.Type == cdf5.Float && len(v.Dims) > 2
		})
		sum, values := 0.0, floats(t, read(t, r, name, nil, nil))
		for _, x := range values {
			sum += x
		}
		want := sum / float64(len(values))
		lines := strings.Split(strings.TrimSpace(script(t, py, "mean_dask.py", zarrSite(t, made.dir)+"zarr/"+filepath.Base(d.process), name)), "\n")
		if len(lines) != 2 {
			t.Fatalf("%q", lines)
		}
		for _, l := range lines {
			mean, tasks, _ := strings.Cut(l, " ")
			got, err := strconv.ParseFloat(mean, 64)
			n, terr := strconv.Atoi(tasks)
			if err != nil || terr != nil || math.Abs(got-want) > 1e-9*math.Abs(want) || n < 2 {
				t.Errorf("mean of %s: %q, want %v of several chunks", name, l, want)
			}
		}
	})
}

// zarrita returns a node that has the package.
func zarrita(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BLOBIO_ZARRITA")
	if dir == "" {
		absent(t, "BLOBIO_ZARRITA names no directory with node_modules/zarrita")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "zarrita")); err != nil {
		absent(t, "no zarrita in %s", dir)
	}
	need(t, "node")
	return "node"
}

// TestZarritaReads: every variable in both versions over HTTP.
func TestZarritaReads(t *testing.T) {
	node := zarrita(t)
	each(t, func(t *testing.T, d *dataset) {
		r := open(t, d.canonical)
		for _, word := range []string{"zarr", "zarr3"} {
			ask(t, node, "read_zarrita.mjs", append([]string{zarrURL(t, word, d)}, varNames(r)...)...).chars(r).equals(t, r)
		}
	})
}

func varNames(r *blob.Reader) (names []string) {
	for _, v := range r.Schema().Vars() {
		names = append(names, v.Name)
	}
	return names
}

// TestZarritaReadsDirectory: what convert writes, with each codec.
func TestZarritaReadsDirectory(t *testing.T) {
	node := zarrita(t)
	codecs := []zarr.Codecs{{}, {Zstd: 3, CRC32C: true}, {Gzip: 4}}
	some(t, func(t *testing.T, d *dataset) {
		c := codecs[0]
		codecs = codecs[1:]
		r, err := blob.Open(t.Context(), d.process, &blob.OpenOptions{Verify: blob.VerifyOnce})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		out := filepath.Join(t.TempDir(), "out.zarr")
		if err := zarr.Write(t.Context(), comm.Self(), r, out, &zarr.WriteOptions{Options: zarr.Options{ChunkBytes: 100_000, Codecs: c}, NoSync: true}); err != nil {
			t.Fatal(err)
		}
		w := open(t, d.canonical)
		ask(t, node, "read_zarrita.mjs", append([]string{out}, varNames(w)...)...).chars(w).equals(t, w)
	})
}

// TestZarrReadersFail: a damaged chunk is an error of each reader, never fill values.
func TestZarrReadersFail(t *testing.T) {
	d := one(t, configs[0], "F_h1")
	dir := t.TempDir()
	name := filepath.Join(dir, filepath.Base(d.variable))
	for _, from := range append(d.files(d.variable), d.variable+".manifest") {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(from, ".0000") {
			b[len(b)/2] ^= 1
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bad, good := "", ""
	r, err := blob.Open(t.Context(), name, &blob.OpenOptions{Verify: blob.VerifyAlways})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, v := range r.Schema().Vars() {
		dst := make([]byte, product(shape(r, blob.VarID(i)))*int64(v.Type.Size()))
		if err := r.ReadBytes(t.Context(), v.Name, nil, nil, dst, false); err != nil {
			bad = v.Name
		} else {
			good = v.Name
		}
	}
	url := zarrSite(t, dir) + "zarr/" + filepath.Base(name)
	type reader struct{ tool, script string }
	var readers []reader
	readers = append(readers, reader{python(t, "zarr", "fsspec", "aiohttp"), "read_zarr.py"})
	if os.Getenv("BLOBIO_ZARRITA") != "" {
		readers = append(readers, reader{zarrita(t), "read_zarrita.mjs"})
	}
	for _, p := range readers {
		raw := filepath.Join(t.TempDir(), "raw")
		for name, damaged := range map[string]bool{bad: true, good: false} {
			cmd := command(p.tool, filepath.Join("testdata", p.script), raw, url, name)
			var diag strings.Builder
			cmd.Stdout, cmd.Stderr = io.Discard, &diag
			if err := cmd.Run(); (err != nil) != damaged || damaged && !strings.Contains(diag.String(), "500") && !strings.Contains(diag.String(), "reshape") {
				t.Errorf("%s reads %s: %v\n%s", p.script, name, err, tail(diag.String()))
			}
		}
	}
}
