// Package python has the Python package (src), its tests (tests), and the Go tests that run them as a user would have them: installed from a
// wheel into an environment of its own, with Debian's numpy, xarray, dask and netCDF4.
package python

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"blobio/bench"
	"blobio/blob"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/version"
)

// modules that the tests import, and those that install the package.
var modules = []string{"numpy", "xarray", "dask.array", "netCDF4", "scipy", "cftime", "setuptools", "wheel", "pip", "venv"}

// python returns a Python with all modules that the tests import.
func python(t *testing.T) string {
	t.Helper()
	testfiles.Ask(t, "PYTHON")
	py, lack := testfiles.Python(modules...), ""
	if py == "" {
		lack = "no Python has all of " + strings.Join(modules, ", ")
	}
	for _, tool := range []string{"make", "cc", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			lack = tool + " is not installed"
		}
	}
	if lack != "" {
		t.Fatalf("BLOBIO_PYTHON is set, but %s", lack)
	}
	return py
}

// run runs a program, which must succeed, and returns what it printed. more is added to the environment, from which nothing of Python or blobio is taken.
func run(t *testing.T, more []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHON") && !strings.HasPrefix(v, "BLOBIO_") && !strings.HasPrefix(v, "PIP_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "PIP_DISABLE_PIP_VERSION_CHECK=1"), more...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		s := out.String()
		if len(s) > 12000 {
			s = s[:6000] + "\n...\n" + s[len(s)-6000:]
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, s)
	}
	return out.String()
}

// environment makes an environment that has what Debian has, and installs something into it. It returns its Python.
func environment(t *testing.T, py string, what ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "env")
	run(t, nil, py, "-m", "venv", "--system-site-packages", "--without-pip", dir)
	own := filepath.Join(dir, "bin", "python")
	run(t, nil, py, append([]string{"-m", "pip", "--python", own, "install", "-q", "--no-index", "--no-deps"}, what...)...)
	return own
}

// wheel makes the wheel by the make target and returns its path.
func wheel(t *testing.T, py string) string {
	t.Helper()
	dir := t.TempDir()
	run(t, nil, "make", "wheel", "PYTHON="+py, "DIST="+dir)
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("make wheel made %v, %v", list, err)
	}
	return list[0]
}

// TestPackage: the tests in Python, of the wheel.
func TestPackage(t *testing.T) {
	testfiles.Ask(t, "PYTHON")
	py := python(t)
	path := wheel(t, py)
	if want := regexp.MustCompile(`^blobio-` + regexp.QuoteMeta(version.Number) + `-py3-none-manylinux_2_(1\d|2[0-8])_\w+\.whl$`); !want.MatchString(filepath.Base(path)) {
		t.Errorf("the wheel is %s, want %v", filepath.Base(path), want)
	}
	has(t, path, "blobio/lib/libblobio.so.1", "blobio/xarray_engine.py", "blobio/LICENSE", "blobio.pth", "blobio_early.py")
	data := t.TempDir()
	replay(t, data)
	many(t, data)
	subfiles(t, data)
	own := environment(t, py, path)
	out := run(t, []string{"BLOBIO_TEST_DATA=" + data}, own, "-X", "faulthandler", "-W", "always::ResourceWarning", "-m", "unittest", "discover", "-v", "-s", "tests")
	if n := strings.Count(out, " ... ok\n"); n < 40 || strings.Contains(out, "skipped") || strings.Contains(out, "ResourceWarning") {
		t.Errorf("%d tests passed, want 40 or more:\n%s", n, out)
	}
	guide(t, own)
	for _, s := range regexp.MustCompile(`(?m)(^Ran|\d+ variables of|# \w+-centric).*$`).FindAllString(out, -1) {
		t.Log(s)
	}
}

// guide runs the programs of docs/guide-python.md, one after the other as they stand there, on what the guide has before them.
func guide(t *testing.T, py string) {
	t.Helper()
	page, err := os.ReadFile("../docs/guide-python.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m, err := maps("F")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "run"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Replay(t.Context(), bench.ReplayOptions{Case: "F", Maps: m, Layouts: []blob.Layout{blob.VariableCentric}, Records: 3,
		Pattern: e3smcases.Smooth, Dir: filepath.Join(dir, "run"), Base: "F", Options: blob.Options{Durability: blob.DurableNone}}); err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, b := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		programs = append(programs, b[1])
	}
	first := regexp.MustCompile(`(?m)^\$ python -c '(.*)'$`).FindStringSubmatch(string(page))
	if len(programs) < 4 || first == nil {
		t.Fatalf("the guide has %d programs, and begins with %v", len(programs), first)
	}
	file := filepath.Join(dir, "guide.py")
	if err := os.WriteFile(file, []byte(first[1]+"\n"+strings.Join(programs, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := run(t, nil, "env", "-C", dir, py, file); !strings.Contains(out, "variable-centric 16 72 EAM History file information") || !strings.Contains(out, "nothing.nc") {
		t.Errorf("the programs of the guide print\n%s", out)
	}
}

// has looks for files in a wheel.
func has(t *testing.T, path string, names ...string) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	found := map[string]bool{}
	for _, f := range z.File {
		found[f.Name] = f.UncompressedSize64 > 0
	}
	for _, name := range names {
		if !found[name] {
			t.Errorf("%s: no %s", filepath.Base(path), name)
		}
	}
}

// dataset describes one to the tests in Python.
type dataset struct {
	Base      string `json:"base"`
	Canonical string `json:"canonical"`
	Layout    string `json:"layout"`
}

// replay writes the cases F, G and I in both layouts, the process-centric one compressed too, and lists them in datasets.json.
func replay(t *testing.T, dir string) {
	t.Helper()
	var list []dataset
	for _, c := range []struct {
		letter   string
		float    bool
		subfiles int
		compress blob.Compress
	}{
		{"F", false, 1, blob.Compress{}}, {"G", false, 2, blob.Compress{}}, {"I", true, 2, blob.Compress{}},
		{"F", true, 2, packed("auto")}, {"G", true, 1, packed("zstd")}, {"I", false, 1, packed("shuffle+zstd")},
	} {
		m, err := maps(c.letter)
		if err != nil {
			t.Fatal(err)
		}
		layouts := []blob.Layout{blob.VariableCentric, blob.ProcessCentric}
		if c.compress != (blob.Compress{}) {
			layouts = layouts[1:]
		}
		base := fmt.Sprintf("%s_%d_%v_%d", c.letter, c.subfiles, c.float, c.compress.Method)
		res, err := bench.Replay(t.Context(), bench.ReplayOptions{Case: c.letter, Maps: m, Layouts: layouts, Records: 2, Float: c.float, Subfiles: c.subfiles,
			Pattern: e3smcases.Unique, Dir: dir, Base: base, Convert: true, Options: blob.Options{Durability: blob.DurableNone, Compress: c.compress}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res {
			list = append(list, dataset{r.Path, r.Canonical, r.Layout})
		}
	}
	save(t, filepath.Join(dir, "datasets.json"), list)
}

func maps(letter string) ([]*decomp.Map, error) {
	switch letter {
	case "F":
		return e3smcases.F{Ne: 4, Levels: 72, Ranks: 16}.Maps()
	case "G":
		return e3smcases.G{Cells: 285, Levels: 20, Ranks: 16}.Maps()
	default:
		return e3smcases.I{Lat: 24, Lon: 36, Ranks: 16}.Maps() // leaves cells uncovered
	}
}

// many writes a dataset of 21,600 ranks in both layouts, and lists them in many.json.
func many(t *testing.T, dir string) {
	t.Helper()
	m, err := e3smcases.F{Ne: 30, Levels: 72, Ranks: 21600}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	res, err := bench.Replay(t.Context(), bench.ReplayOptions{Case: "F_h1", Maps: m, Pattern: e3smcases.Unique, Dir: dir, Base: "many",
		Options: blob.Options{Durability: blob.DurableNone}})
	if err != nil {
		t.Fatal(err)
	}
	var list []dataset
	for _, r := range res {
		list = append(list, dataset{r.Path, "", r.Layout})
	}
	save(t, filepath.Join(dir, "many.json"), list)
}

// subfiles writes a dataset of 500 subfiles in both layouts, and lists them in subfiles.json.
func subfiles(t *testing.T, dir string) {
	t.Helper()
	m, err := e3smcases.F{Ne: 4, Levels: 72, Ranks: 500}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	res, err := bench.Replay(t.Context(), bench.ReplayOptions{Case: "F_h1", Maps: m, Layouts: []blob.Layout{blob.VariableCentric, blob.ProcessCentric}, Subfiles: 500,
		Pattern: e3smcases.Unique, Dir: dir, Base: "subfiles", Options: blob.Options{Durability: blob.DurableNone}})
	if err != nil {
		t.Fatal(err)
	}
	var list []dataset
	for _, r := range res {
		list = append(list, dataset{r.Path, "", r.Layout})
	}
	save(t, filepath.Join(dir, "subfiles.json"), list)
}

func save(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestInstalledFromTheCheckout: pip install ./python builds the library that it needs, or takes one, and leaves nothing behind.
func TestInstalledFromTheCheckout(t *testing.T) {
	testfiles.Ask(t, "PYTHON")
	py := python(t)
	before := tree(t)
	own := environment(t, py, "--no-build-isolation", ".")
	if after := tree(t); after != before {
		t.Errorf("the checkout has\n%s\nand had\n%s", after, before)
	}
	const program = `
import blobio, numpy, os, sys, xarray
assert blobio.__file__.startswith(sys.prefix), blobio.__file__
import blobio.library
print(blobio.library.load().version(), blobio.library.candidates()[0].startswith(sys.prefix), "blobio" in xarray.backends.list_engines())
`
	if got, want := run(t, nil, own, "-c", program), version.Number+" True True\n"; got != want {
		t.Errorf("it prints %q, want %q", got, want)
	}

	// Without a compiler it is installed without a library, and says what is missing when it is used.
	bare := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bare, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "env")
	run(t, nil, py, "-m", "venv", "--system-site-packages", "--without-pip", dir)
	own = filepath.Join(dir, "bin", "python")
	run(t, []string{"PATH=" + bare}, py, "-m", "pip", "--python", own, "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", ".")
	got := run(t, nil, own, "-c", "import blobio\ntry: blobio.open('x')\nexcept blobio.LibraryError as e: print(e)")
	if !strings.HasPrefix(got, "cannot load libblobio 1.5 or later: set BLOBIO_LIBRARY") || !strings.Contains(got, "libblobio.so.1: ") {
		t.Errorf("without the library it says %q", got)
	}
}

// tree lists the files of this folder.
func tree(t *testing.T) string {
	t.Helper()
	var list []string
	if err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		list = append(list, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// TestNumbersAgree: version and codes are the library's. (This needs nothing but Go.)
func TestNumbersAgree(t *testing.T) {
	text := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := text("src/blobio/version.py"); !strings.Contains(got, `NUMBER = "`+version.Number+`"`) {
		t.Errorf("version.py has not %s:\n%s", version.Number, got)
	}
	header, errs := text("../capi/blobio.h"), text("src/blobio/errors.py")
	code := map[string]string{}
	for _, m := range regexp.MustCompile(`BLOBIO_(E\w+) = (-\d+)`).FindAllStringSubmatch(header, -1) {
		code[m[1]] = m[2]
	}
	for name, class := range map[string]string{"EHANDLE": "ClosedError", "EINVAL": "UsageError", "ENOTFOUND": "NotFoundError", "EACCESS": "AccessError",
		"EMEMORY": "CapError", "ETRUNCATED": "TruncatedError", "ECHECKSUM": "ChecksumError", "ECORRUPT": "CorruptError", "EVERSION": "FormatError",
		"EUNSUPPORTED": "FormatError", "ENOTFORMAT": "FormatError", "ENOTCOMMITTED": "NotCommittedError", "EMISSING": "MissingError", "EFORKED": "LibraryError"} {
		if want := "    " + code[name] + ": " + class + ",\n"; code[name] == "" || !strings.Contains(errs, want) {
			t.Errorf("errors.py has not %q for %s", want, name)
		}
	}
	for _, name := range []string{"FORKED", "SMALL"} {
		if want := name + " = " + code["E"+name]; !strings.Contains(errs, want) {
			t.Errorf("errors.py has not %q", want)
		}
	}
}

func packed(word string) (c blob.Compress) {
	if err := c.Set(word); err != nil {
		panic(err)
	}
	return c
}
