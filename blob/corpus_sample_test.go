package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// The corpus: good small datasets, and one fault in each of many copies.

const sampleBase = "d.nc"

// long says that the whole corpus is wanted, not a part of it.
var long = os.Getenv("BLOBIO_LONG") == "1"

// A sample is a good dataset, its files in memory.
type sample struct {
	name     string
	layout   Layout
	manifest bool
	files    map[string][]byte
	schema   *Schema
	want     map[string][]float64 // by variable: all its elements
	text     map[string][]byte    // of char variables
	records  int64
}

var sampleCache sync.Map // name → *sample; they are not changed

// newSample writes the toy dataset with 3 ranks (the last owns nothing) and 2 records.
func newSample(t testing.TB, layout Layout, subfiles int, manifest bool) *sample {
	name := fmt.Sprintf("%v-%d-manifest=%v", layout, subfiles, manifest)
	if s, ok := sampleCache.Load(name); ok {
		return s.(*sample)
	}
	s := writeSample(t, newToy(3), layout, subfiles, manifest, 2)
	s.name = name
	sampleCache.Store(name, s)
	return s
}

func writeSample(t testing.TB, toy *toy, layout Layout, subfiles int, manifest bool, records int64) *sample {
	t.Helper()
	return writeSampleWith(t, toy, &settings{Options: Options{Layout: layout, Subfiles: subfiles}}, manifest, records)
}

func writeSampleWith(t testing.TB, toy *toy, o *settings, manifest bool, records int64) *sample {
	t.Helper()
	m := vfs.NewMem()
	o.Durability, o.Workers, o.fs = DurableNone, 1, m
	ctx := context.Background()
	if err := comm.Run(ctx, toy.ranks, nil, func(ctx context.Context, c comm.Comm) error {
		parts := toy.parts(c.Rank())
		for d := len(parts); d < len(toy.maps); d++ {
			parts = append(parts, Part{DecompID(d + 1), toy.maps[d].AppendReqs(nil, c.Rank())})
		}
		w, err := createWith(ctx, c, sampleBase, toy.s, parts, o)
		if err != nil {
			return err
		}
		for rec := range records {
			if err := toy.put(w, c.Rank(), rec, rec == 0); err != nil {
				return err
			}
		}
		return w.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	s := &sample{layout: o.Layout, manifest: manifest, files: memFiles(t, m), schema: toy.s, records: records}
	if !manifest {
		delete(s.files, subfile.ManifestName(sampleBase))
	}
	s.want, s.text = map[string][]float64{}, map[string][]byte{}
	r, err := openWith(ctx, sampleBase, nil, knobs{fs: m})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for v := range toy.s.vars {
		sv := &toy.s.vars[v]
		n := toy.s.Elems(VarID(v))
		if sv.Record {
			n *= records
		}
		if sv.Type == cdf5.Char {
			s.text[sv.Name] = make([]byte, n)
			err = r.Read(ctx, sv.Name, nil, nil, s.text[sv.Name])
		} else {
			s.want[sv.Name] = make([]float64, n)
			err = r.Read(ctx, sv.Name, nil, nil, s.want[sv.Name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func samples(t testing.TB) (out []*sample) {
	for _, layout := range []Layout{VariableCentric, ProcessCentric} {
		for _, subfiles := range []int{1, 2} {
			for _, manifest := range []bool{true, false} {
				out = append(out, newSample(t, layout, subfiles, manifest))
			}
		}
	}
	return out
}

// someSamples are those that the large tests take: all of them only in the long run.
func someSamples(t testing.TB) []*sample {
	if long {
		return samples(t)
	}
	return []*sample{newSample(t, VariableCentric, 1, true), newSample(t, VariableCentric, 2, false),
		newSample(t, ProcessCentric, 2, true), newSample(t, ProcessCentric, 1, false)}
}

func memFiles(t testing.TB, m *vfs.Mem) map[string][]byte {
	t.Helper()
	entries, err := m.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		f, err := m.Open(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		n, _ := f.Size()
		b := make([]byte, n)
		if _, err := f.ReadAt(b, 0); err != nil && n > 0 {
			t.Fatal(err)
		}
		f.Close()
		out[e.Name()] = b
	}
	return out
}

func memOf(t testing.TB, files map[string][]byte) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	for name, b := range files {
		if strings.HasSuffix(name, "/") {
			if err := m.MkdirAll(strings.TrimSuffix(name, "/")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if d := path.Dir(name); d != "." {
			if err := m.MkdirAll(d); err != nil {
				t.Fatal(err)
			}
		}
		f, err := m.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return m
}

// with returns the files with one of them replaced (nil: removed).
func (s *sample) with(name string, b []byte) map[string][]byte {
	files := maps.Clone(s.files)
	if b == nil {
		delete(files, name)
	} else {
		files[name] = b
	}
	return files
}

// patch returns the files with bytes of one of them overwritten.
func (s *sample) patch(name string, off int64, b []byte) map[string][]byte {
	return s.with(name, patched(s.files[name], off, b))
}

func patched(file []byte, off int64, b []byte) []byte {
	c := slices.Clone(file)
	copy(c[off:], b)
	return c
}

func flipped(file []byte, off int64, bit uint) []byte {
	return patched(file, off, []byte{file[off] ^ 1<<bit})
}

func (s *sample) subfile(i int) string { return subfile.Name(sampleBase, i) }

// order is the byte order of header and data.
func (s *sample) order() binary.ByteOrder {
	if s.layout == ProcessCentric {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// place decodes a subfile of the good dataset.
func (s *sample) place(t testing.TB, name string) (*place, *layout.Ranks) {
	t.Helper()
	f, err := memOf(t, s.files).Open(name)
	if err != nil {
		t.Fatal(err)
	}
	pl, _, err := decodePlace(f, int64(len(s.files[name])), name)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := layout.ReadTable(f, &pl.Place, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pl, tab
}

// An outcome is what Open, Read and Check made of a dataset.
type outcome struct {
	errs     []error  // of Open, Read, ReadRuns and Blobs
	wrong    []string // what was read without an error, but is not what was written
	findings []Finding
	faults   []Finding // those that are errors
	alloc    uint64
}

// allocCap is the most that looking at a dataset of some KiB may allocate.
const allocCap = 64 << 20

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watch ends the test with the name of the case if it hangs.
func watch(what string) func() {
	t := time.AfterFunc(5*time.Minute, func() { panic("hangs: " + what) })
	return func() { t.Stop() }
}

// look opens, reads and checks a dataset.
func (s *sample) look(t testing.TB, what string, files map[string][]byte) (o outcome) {
	t.Helper()
	defer watch(what)()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v", what, p)
		}
	}()
	m := memOf(t, files)
	before := allocated()
	ctx := context.Background()
	r, err := openWith(ctx, sampleBase, &OpenOptions{Workers: 1}, knobs{fs: m})
	if err != nil {
		o.errs = append(o.errs, err)
	} else {
		s.readAll(ctx, r, &o)
		r.Close()
	}
	for f := range checkWith(ctx, sampleBase, &CheckOptions{Workers: 1}, knobs{fs: m}) {
		o.findings = append(o.findings, f)
		if f.Severity == Error {
			o.faults = append(o.faults, f)
		}
	}
	o.alloc = allocated() - before
	return o
}

// readAll reads every variable that was written, and small pieces of all that
// the dataset says it has.
func (s *sample) readAll(ctx context.Context, r *Reader, o *outcome) {
	if r.Records() != s.records {
		o.wrong = append(o.wrong, fmt.Sprintf("%d records", r.Records()))
	}
	for v := range s.schema.vars {
		sv := &s.schema.vars[v]
		id, ok := r.schema.VarID(sv.Name)
		if !ok {
			o.wrong = append(o.wrong, "no variable "+sv.Name)
			continue
		}
		if got := &r.schema.vars[id]; got.Record != sv.Record || !slices.Equal(r.schema.Shape(id), s.schema.Shape(VarID(v))) ||
			got.Type != sv.Type || (sv.Record && r.Records() != s.records) {
			o.wrong = append(o.wrong, "shape or type of "+sv.Name)
			o.errs = appendErr(o.errs, readSome(ctx, r, id))
			continue
		}
		if want, ok := s.text[sv.Name]; ok {
			got := make([]byte, len(want))
			if err := r.Read(ctx, sv.Name, nil, nil, got); err != nil {
				o.errs = append(o.errs, err)
			} else if string(got) != string(want) {
				o.wrong = append(o.wrong, sv.Name)
			}
			continue
		}
		want := s.want[sv.Name]
		got := make([]float64, len(want))
		if err := r.Read(ctx, sv.Name, nil, nil, got); err != nil {
			o.errs = append(o.errs, err)
		} else if !slices.Equal(got, want) {
			o.wrong = append(o.wrong, sv.Name)
		}
		if err := readSome(ctx, r, id); err != nil {
			o.errs = append(o.errs, err)
		}
	}
	if len(o.wrong) == 0 && len(s.schema.differ(r.schema)) > 0 {
		o.wrong = append(o.wrong, "metadata")
	}
}

func appendErr(errs []error, err error) []error {
	if err != nil {
		return append(errs, err)
	}
	return errs
}

// readSome reads a few elements at both ends of a variable in every way there is.
func readSome(ctx context.Context, r *Reader, v VarID) error {
	sv := &r.schema.vars[v]
	shape := r.schema.Shape(v)
	if sv.Record {
		if r.records == 0 {
			return nil
		}
		shape = append([]int64{r.records}, shape...)
	}
	first, count, last := make([]int64, len(shape)), make([]int64, len(shape)), make([]int64, len(shape))
	n := int64(1)
	for i, d := range shape {
		count[i] = min(d, 2)
		last[i] = d - count[i]
		n *= count[i]
	}
	if n > 1<<12 {
		return nil
	}
	dst := any(make([]float64, n))
	if sv.Type == cdf5.Char {
		dst = make([]byte, n)
	}
	for _, start := range [][]int64{first, last} {
		if err := r.Read(ctx, sv.Name, start, count, dst); err != nil {
			return err
		}
	}
	if sv.Decomp != 0 {
		rec := int64(0)
		if sv.Record {
			rec = r.records - 1
		}
		k := 0
		for _, err := range r.Blobs(ctx, sv.Name, rec) {
			if k++; err != nil || k > 16 {
				return err
			}
		}
	}
	return nil
}

// hasClass says whether an error tells a caller what it is.
func hasClass(err error) bool {
	var fe *FormatError
	if errors.As(err, &fe) {
		return fe.Field != "" && fe.Err != nil && (fe.File != "" || fe.Pkg == "")
	}
	for _, class := range []error{ErrMissing, ErrNotCommitted, ErrRange, fs.ErrNotExist} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// judge holds what must be true of any dataset, however damaged.
func (s *sample) judge(t testing.TB, what string, o outcome) {
	t.Helper()
	for _, err := range o.errs {
		if !hasClass(err) {
			t.Errorf("%s: not a typed error: %v (%T)", what, err, err)
		}
	}
	for _, f := range o.faults {
		if f.Err == nil || f.Field == "" || f.Msg == "" {
			t.Errorf("%s: finding without class, field or text: %v", what, f)
		}
	}
	if len(o.errs) > 0 && len(o.faults) == 0 && !errors.Is(o.errs[0], ErrRange) {
		t.Errorf("%s: reading fails (%v), but Check finds no error: %v", what, o.errs[0], o.findings)
	}
	values := func(name string) bool { return s.want[name] != nil || s.text[name] != nil }
	if s.manifest && len(o.errs) == 0 && (slices.ContainsFunc(o.wrong, values) || len(o.wrong) > 0 && len(o.faults) == 0) {
		t.Errorf("%s: wrong without a word, and there is a manifest: %v; findings %v", what, o.wrong, o.findings)
	}
	if o.alloc > allocCap {
		t.Errorf("%s: %d MiB allocated", what, o.alloc>>20)
	}
}

// faultAt fails unless reading, or a finding of Check, names this place.
func (o *outcome) faultAt(t testing.TB, what, file string, off int64) {
	t.Helper()
	at := func(err error) bool {
		var fe *FormatError
		return errors.As(err, &fe) && fe.Offset == off && fe.File == file
	}
	if len(o.errs) == 0 {
		t.Errorf("%s: no error of reading; wrong: %v", what, o.wrong)
	} else if !slices.ContainsFunc(o.errs, at) {
		t.Errorf("%s: want an error at %s %#x, got %v", what, file, off, o.errs[0])
	}
	o.foundAt(t, what, file, off)
}

func (o *outcome) foundAt(t testing.TB, what, file string, off int64) {
	t.Helper()
	if !slices.ContainsFunc(o.faults, func(f Finding) bool { return f.File == file && f.Offset == off }) {
		t.Errorf("%s: want a finding at %s %#x, got %v", what, file, off, o.faults)
	}
}

// A fault is one damaged copy of a sample.
type faulty struct {
	name  string
	files map[string][]byte
	file  string
	at    int64 // where the error must point; -1 is not held
}

// run looks at one case and judges it.
func (s *sample) run(t testing.TB, f faulty) outcome {
	t.Helper()
	what := s.name + ": " + f.name
	o := s.look(t, what, f.files)
	s.judge(t, what, o)
	if f.at >= 0 {
		o.faultAt(t, what, f.file, f.at)
	}
	return o
}

func TestSamplesAreGood(t *testing.T) {
	for _, s := range samples(t) {
		o := s.run(t, faulty{name: "good", files: s.files, at: -1})
		if len(o.errs) > 0 || len(o.wrong) > 0 {
			t.Errorf("%s: %v %v", s.name, o.errs, o.wrong)
		}
		for _, f := range o.findings {
			if f.Severity != Note {
				t.Errorf("%s: %v", s.name, f)
			}
		}
		sizes := []int{}
		for _, n := range slices.Sorted(maps.Keys(s.files)) {
			sizes = append(sizes, len(s.files[n]))
		}
		t.Logf("%s: files of %v bytes, %d KiB allocated", s.name, sizes, o.alloc>>10)
	}
}
