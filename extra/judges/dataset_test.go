package judges

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"blobio/bench"
	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/base/testfiles"
)

// a config is one way to write a case.
type config struct {
	letter   string
	float    bool
	subfiles int
}

func (c config) String() string {
	typ := "double"
	if c.float {
		typ = "float"
	}
	return fmt.Sprintf("%s_%s_%d", c.letter, typ, c.subfiles)
}

var configs = []config{
	{"F", false, 1}, {"F", true, 2},
	{"G", false, 2}, {"G", true, 1},
	{"I", false, 2}, {"I", true, 1},
}

const ranks = 16

// maps returns the generated maps of a case; the maps of I leave cells uncovered.
func maps(letter string) ([]*decomp.Map, error) {
	switch letter {
	case "F":
		return e3smcases.F{Ne: 4, Levels: 72, Ranks: ranks}.Maps()
	case "G":
		return e3smcases.G{Cells: 285, Levels: 20, Ranks: ranks}.Maps()
	default:
		return e3smcases.I{Lat: 24, Lon: 36, Ranks: ranks}.Maps()
	}
}

// A dataset is one history in all forms.
type dataset struct {
	config
	history   string // F_h0, ...
	variable  string // base name of the variable-centric form
	process   string // base name of the process-centric form
	canonical string // ordinary netCDF: from both forms the same bytes
}

// files lists the subfiles of a form.
func (d *dataset) files(base string) (out []string) {
	for i := range d.config.subfiles {
		out = append(out, fmt.Sprintf("%s.%04d", base, i))
	}
	return out
}

// made are the datasets, each written when first asked for. All tests share them, so no test may write beside them.
var made struct {
	sync.Mutex
	dir string
	by  map[config][]*dataset
}

func TestMain(m *testing.M) {
	if !testfiles.Asked("JUDGES") {
		fmt.Println("set BLOBIO_JUDGES=1 to run these tests")
		os.Exit(0)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "judges")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		made.dir, made.by = dir, map[config][]*dataset{}
		return m.Run()
	}())
}

// datasets are the histories of a config. Every element was read back and compared with the pattern.
func (c config) datasets(t *testing.T) []*dataset {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	if d := made.by[c]; d != nil {
		return d
	}
	m, err := maps(c.letter)
	if err != nil {
		t.Fatal(err)
	}
	res, err := bench.Replay(context.Background(), bench.ReplayOptions{Case: c.letter, Maps: m, Records: 3, Float: c.float, Subfiles: c.subfiles,
		Pattern: e3smcases.Unique, Dir: made.dir, Base: c.String(), Verify: true, Convert: true, Force: true, Options: blob.Options{Durability: blob.DurableNone}})
	if err != nil {
		t.Fatal(err)
	}
	var out []*dataset
	for _, r := range res {
		if r.Layout == blob.VariableCentric.String() {
			out = append(out, &dataset{config: c, history: r.Case, variable: r.Path})
		}
		d := out[len(out)-1]
		if d.history != r.Case || r.Subfiles != c.subfiles || r.Ranks != ranks {
			t.Fatalf("replay of %v gave %+v", c, r)
		}
		if r.Layout == blob.ProcessCentric.String() {
			d.process = r.Path
		}
		if d.canonical == "" {
			d.canonical = r.Canonical
		} else if !bytes.Equal(contents(t, d.canonical), contents(t, r.Canonical)) {
			t.Fatalf("%s and %s differ", d.canonical, r.Canonical)
		}
	}
	made.by[c] = out
	return out
}

// each runs a subtest for every history of every config.
func each(t *testing.T, f func(t *testing.T, d *dataset)) {
	t.Helper()
	for _, c := range configs {
		for _, d := range c.datasets(t) {
			t.Run(fmt.Sprintf("%v_%s", c, d.history), func(t *testing.T) { f(t, d) })
		}
	}
}

// some is each for one config of each case: for slow tools.
func some(t *testing.T, f func(t *testing.T, d *dataset)) {
	t.Helper()
	for _, c := range []config{configs[0], configs[2], configs[5]} {
		d := c.datasets(t)
		d = d[len(d)-1:] // the smaller of two histories
		t.Run(fmt.Sprintf("%v_%s", c, d[0].history), func(t *testing.T) { f(t, d[0]) })
	}
}

// one is the named history of a config.
func one(t *testing.T, c config, history string) *dataset {
	t.Helper()
	for _, d := range c.datasets(t) {
		if d.history == history {
			return d
		}
	}
	t.Fatalf("%v has no %s", c, history)
	return nil
}

// open opens a dataset for the time of the test.
func open(t *testing.T, path string) *blob.Reader {
	t.Helper()
	r, err := blob.Open(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// header returns the decoded header of a CDF file.
func header(t *testing.T, path string) *cdf5.Header {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := cdf5.DecodeHeader(f, info.Size(), &cdf5.DecodeOptions{File: filepath.Base(path)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// shape is a variable's shape with the record dimension.
func shape(r *blob.Reader, v blob.VarID) []int64 {
	s := slices.Clone(r.Schema().Shape(v))
	if r.Schema().Vars()[v].Record {
		s = append([]int64{r.Records()}, s...)
	}
	return s
}

func product(s []int64) int64 {
	n := int64(1)
	for _, x := range s {
		n *= x
	}
	return n
}

// read reads a hyperslab of a variable, or all of it, in its own type.
func read(t *testing.T, r *blob.Reader, name string, start, count []int64) any {
	t.Helper()
	v, ok := r.Schema().VarID(name)
	if !ok {
		t.Fatalf("no variable %q", name)
	}
	n := product(count)
	if count == nil {
		n = product(shape(r, v))
	}
	dst := cdf5.NewSlice(r.Schema().Vars()[v].Type, int(n))
	if err := r.Read(context.Background(), name, start, count, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

// little are the little-endian bytes of a slice from read.
func little(t *testing.T, typ cdf5.Type, v any) []byte {
	t.Helper()
	n, _, ok := cdf5.SliceLen(v)
	if !ok {
		t.Fatalf("no bytes of a %T", v)
	}
	b := make([]byte, n*typ.Size())
	if err := cdf5.ToFile(b, false, typ, v); err != nil {
		t.Fatal(err)
	}
	return b
}

// floats are the values of a slice from read.
func floats(t *testing.T, v any) []float64 {
	t.Helper()
	switch x := v.(type) {
	case []float64:
		return x
	case []float32:
		return widen(x)
	case []int32:
		return widen(x)
	case []int64:
		return widen(x)
	}
	t.Fatalf("no floats of a %T", v)
	return nil
}

func widen[T float32 | int32 | int64](x []T) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = float64(x[i])
	}
	return out
}

// pick is the first variable that satisfies f.
func pick(t *testing.T, r *blob.Reader, what string, f func(v *blob.Variable) bool) string {
	t.Helper()
	vars := r.Schema().Vars()
	for i := range vars {
		if f(&vars[i]) {
			return vars[i].Name
		}
	}
	t.Fatalf("%s has no %s", r.Base(), what)
	return ""
}

// dims are the names of a variable's dimensions.
func dims(r *blob.Reader, v *blob.Variable) (names []string) {
	for _, d := range v.Dims {
		names = append(names, r.Schema().Dims()[d].Name)
	}
	return names
}

// field is the first floating-point record variable with these dimensions.
func field(t *testing.T, r *blob.Reader, names ...string) string {
	t.Helper()
	return pick(t, r, fmt.Sprintf("field with dimensions %v", names), func(v *blob.Variable) bool {
		return (v.Type == cdf5.Float || v.Type == cdf5.Double) && slices.Equal(dims(r, v), names)
	})
}

// sized is an open file and its size in bytes.
type sized struct {
	*os.File
	size int64
}

// openFile opens a file for the time of the test.
func openFile(t *testing.T, path string) sized {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return sized{f, info.Size()}
}

// contents are the bytes of a file.
func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
