package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
)

// An outcome is the result of Open, Read and Check for a dataset.
type outcome struct {
	errs     []error  // errors of Open, Read, ReadRuns and Blobs
	wrong    []string // data that were read without an error but differ from the written data
	findings []dataset.Finding
	faults   []dataset.Finding // findings of severity Error or higher
	alloc    uint64
}

// allocCap is the maximum allocation for examining a dataset of some KiB.
const allocCap = 64 << 20

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// unlessHung panics with the name of the test case after 5 minutes, unless the returned function is called.
func unlessHung(what string) func() {
	t := time.AfterFunc(5*time.Minute, func() { panic("hangs: " + what) })
	return func() { t.Stop() }
}

// The lock looks is held exclusively to measure the allocations of one look alone, because the runtime counts allocations of
// the whole process.
var looks sync.RWMutex

// look opens, reads and checks a dataset. If the allocations exceed allocCap, look repeats the work while no other look runs.
func (s *sample) look(t testing.TB, what string, files map[string][]byte) outcome {
	t.Helper()
	o := func() outcome {
		looks.RLock()
		defer looks.RUnlock()
		return s.lookOnce(t, what, files)
	}()
	if o.alloc > allocCap {
		looks.Lock()
		defer looks.Unlock()
		return s.lookOnce(t, what, files)
	}
	return o
}

func (s *sample) lookOnce(t testing.TB, what string, files map[string][]byte) (o outcome) {
	t.Helper()
	defer unlessHung(what)()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v", what, p)
		}
	}()
	m := memOf(t, files)
	before := allocated()
	ctx := context.Background()
	r, err := read.OpenWith(ctx, sampleBase, &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: m})
	if err != nil {
		o.errs = append(o.errs, err)
	} else {
		s.readAll(ctx, r, &o)
		r.Close()
	}
	for f := range check.CheckWith(ctx, sampleBase, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: m}) {
		o.findings = append(o.findings, f)
		if f.Severity >= dataset.Error {
			o.faults = append(o.faults, f)
		}
	}
	o.alloc = allocated() - before
	return o
}

// readAll reads every variable that the sample has, and small pieces of every variable that the damaged dataset declares.
func (s *sample) readAll(ctx context.Context, r *read.Reader, o *outcome) {
	if r.Now().Data.Records != s.records {
		o.wrong = append(o.wrong, fmt.Sprintf("%d records", r.Now().Data.Records))
	}
	for v := range s.schema.Vars {
		sv := &s.schema.Vars[v]
		id, ok := r.Data.Schema.VarID(sv.Name)
		if !ok {
			o.wrong = append(o.wrong, "no variable "+sv.Name)
			continue
		}
		if got := &r.Data.Schema.Vars[id]; got.Record != sv.Record || !slices.Equal(r.Data.Schema.Shape(id), s.schema.Shape(dataset.VarID(v))) ||
			got.Type != sv.Type || (sv.Record && r.Now().Data.Records != s.records) {
			o.wrong = append(o.wrong, "shape or type of "+sv.Name)
			if err := readSome(ctx, r, id); err != nil {
				o.errs = append(o.errs, err)
			}
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
	if len(o.wrong) == 0 && len(s.schema.Differ(r.Data.Schema, true, false)) > 0 {
		o.wrong = append(o.wrong, "metadata")
	}
}

// readSome reads a few elements at both ends of a variable with every read method.
func readSome(ctx context.Context, r *read.Reader, v dataset.VarID) error {
	sv := &r.Data.Schema.Vars[v]
	shape := r.Data.Schema.Shape(v)
	if sv.Record {
		if r.Data.Records == 0 {
			return nil
		}
		shape = append([]int64{r.Data.Records}, shape...)
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
			rec = r.Data.Records - 1
		}
		k := 0
		for _, err := range r.Now().Elems.Blobs(ctx, sv.Name, rec) {
			if k++; err != nil || k > 16 {
				return err
			}
		}
	}
	return nil
}

// hasClass reports whether errors.Is finds one of the package's error classes in err.
func hasClass(err error) bool {
	var fe *dataset.FormatError
	if errors.As(err, &fe) {
		return fe.Field != "" && fe.Err != nil
	}
	for _, class := range []error{dataset.ErrMissing, dataset.ErrNotCommitted, dataset.ErrRange, fs.ErrNotExist} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// judge checks the rules that hold for any dataset, even a damaged one.
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
	if len(o.errs) > 0 && len(o.faults) == 0 && !errors.Is(o.errs[0], dataset.ErrRange) {
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

// faultAt fails the test unless a read error and a finding of Check have this file and offset.
func (o *outcome) faultAt(t testing.TB, what, file string, off int64) {
	t.Helper()
	at := func(err error) bool {
		var fe *dataset.FormatError
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
	if !slices.ContainsFunc(o.faults, func(f dataset.Finding) bool { return f.File == file && f.Offset == off }) {
		t.Errorf("%s: want a finding at %s %#x, got %v", what, file, off, o.faults)
	}
}

// faulty is one damaged copy of a sample.
type faulty struct {
	name  string
	files map[string][]byte
	file  string
	at    int64 // required offset of the error and the finding; -1: any
}

// run examines the dataset and judges the outcome.
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
