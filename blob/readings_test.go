package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// history is a way to write the toy dataset with 3 records, in one or more sessions.
type history struct {
	name     string
	o        dataset.Settings
	first    int64 // number of records of the first session; each other session appends one
	separate bool  // the ranks have separate heaps
}

func histories() (out []history) {
	for _, piece := range []int64{0, 100} { // extents have one piece, or many
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			for _, subfiles := range []int{1, 2} {
				o := dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: subfiles}, Knobs: dataset.Knobs{Piece: piece}}
				name := fmt.Sprintf("%v-%d-piece=%d", layout, subfiles, piece)
				out = append(out, history{name: name, o: o, first: 3}, history{name: name + "-appended", o: o, first: 1})
				if layout == dataset.ProcessCentric {
					o.Records = 3
					out = append(out, history{name: name + "-known", o: o, first: 3})
				}
			}
		}
	}
	return out
}

// write writes the dataset and returns its files.
func (h history) write(t testing.TB) map[string][]byte {
	t.Helper()
	m := vfs.NewMem()
	toy := newToy(3)
	o := h.o
	o.Durability, o.Fs = dataset.DurableNone, m
	if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		c = isolateIf(c, h.separate)
		must(toy.write(ctx, c, sampleBase, h.first, &o))
		for rec := h.first; rec < 3; rec++ {
			w := need(resume.AppendWith(ctx, c, sampleBase, toy.parts(c.Rank()), &o))
			must(toy.put(w, c.Rank(), rec, false))
			must(w.Close(ctx))
		}
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	return memFiles(t, m)
}

// cutout is a record of a variable to read.
type cutout struct {
	name string
	rec  int64
	v    dataset.VarID
}

// readings are ways to read a record of a variable: whole, in part, or both. Each returns the values, or an error.
var readings = []struct {
	name string
	o    read.OpenOptions
	read func(ctx context.Context, r *read.Reader, s cutout) ([]float64, error)
}{
	{"whole", read.OpenOptions{}, readWhole},
	{"hyperslab", read.OpenOptions{}, func(ctx context.Context, r *read.Reader, s cutout) ([]float64, error) {
		start, count := s.corner(r)
		out := make([]float64, dataset.Product(count))
		return out, r.Read(ctx, s.name, start, count, out)
	}},
	{"runs", read.OpenOptions{}, func(ctx context.Context, r *read.Reader, s cutout) (out []float64, err error) {
		n := r.Data.Schema.Elems(s.v)
		var runs []decomp.Req
		for at := int64(0); at < n; at += 11 {
			runs = append(runs, decomp.Req{Offset: at, Length: 1})
		}
		for range 2 { // the second read does not verify checksums again
			out = make([]float64, len(runs))
			if err := r.ReadRuns(ctx, s.name, s.rec, runs, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}},
	{"all but one element", read.OpenOptions{}, func(ctx context.Context, r *read.Reader, s cutout) ([]float64, error) {
		n := r.Data.Schema.Elems(s.v)
		out := make([]float64, n-1)
		return out, r.ReadRuns(ctx, s.name, s.rec, []decomp.Req{{Offset: 0, Length: n / 2}, {Offset: n/2 + 1, Length: n - n/2 - 1}}, out)
	}},
	// After a restart on other ranks, each rank reads a part of several extents.
	{"5 processes", read.OpenOptions{}, func(ctx context.Context, r *read.Reader, s cutout) ([]float64, error) {
		n := r.Data.Schema.Elems(s.v)
		out := make([]float64, n)
		var errs []error
		for k := range int64(5) {
			lo, hi := k*n/5, (k+1)*n/5
			own, err := read.OpenWith(ctx, r.Files.Base, nil, dataset.Knobs{Fs: r.Files.Fs})
			if err == nil {
				err = errors.Join(own.ReadRuns(ctx, s.name, s.rec, []decomp.Req{{Offset: lo, Length: hi - lo}}, out[lo:hi]), own.Close())
			}
			errs = append(errs, err)
		}
		return out, errors.Join(errs...)
	}},
	{"blobs", read.OpenOptions{}, func(ctx context.Context, r *read.Reader, s cutout) (out []float64, err error) {
		if r.Data.Schema.Vars[s.v].Decomp == 0 {
			return nil, nil
		}
		for b, err := range r.Now().Elems.Blobs(ctx, s.name, s.rec) {
			if err != nil {
				return nil, err
			}
			raw, _ := cdf5.Bytes(b.Data)
			n, typ, _ := cdf5.SliceLen(b.Data)
			x := make([]float64, n)
			if err := cdf5.FromFile(x, raw, dataset.HostBig, typ); err != nil {
				return nil, err
			}
			out = append(out, x...)
		}
		return out, nil
	}},
	{"rank's blob", read.OpenOptions{}, func(ctx context.Context, r *read.Reader, s cutout) ([]float64, error) {
		if r.Data.Schema.Vars[s.v].Decomp == 0 {
			return nil, nil
		}
		b, err := r.Now().Elems.RankBlob(ctx, s.name, s.rec, 1)
		if err != nil {
			return nil, err
		}
		n, typ, _ := cdf5.SliceLen(b.Data)
		raw, _ := cdf5.Bytes(b.Data)
		out := make([]float64, n)
		return out, cdf5.FromFile(out, raw, dataset.HostBig, typ)
	}},
}

func readWhole(ctx context.Context, r *read.Reader, s cutout) ([]float64, error) {
	start, count := s.box(r)
	if r.Data.Schema.Vars[s.v].Type == cdf5.Char {
		b := make([]byte, dataset.Product(count))
		if err := r.Read(ctx, s.name, start, count, b); err != nil {
			return nil, err
		}
		out := make([]float64, len(b))
		for i := range b {
			out[i] = float64(b[i])
		}
		return out, nil
	}
	out := make([]float64, dataset.Product(count))
	return out, r.Read(ctx, s.name, start, count, out)
}

// box returns the start and count of the whole record.
func (s cutout) box(r *read.Reader) (start, count []int64) {
	shape := r.Data.Schema.Shape(s.v)
	start, count = make([]int64, len(shape)), slices.Clone(shape)
	if r.Data.Schema.Vars[s.v].Record {
		start, count = append([]int64{s.rec}, start...), append([]int64{1}, count...)
	}
	return start, count
}

// corner returns the start and count of the elements with the middle index of the last dimension.
func (s cutout) corner(r *read.Reader) (start, count []int64) {
	start, count = s.box(r)
	last := len(count) - 1
	if last == 0 && r.Data.Schema.Vars[s.v].Record {
		return start, count
	}
	start[last] = count[last] / 2
	count[last] = 1
	return start, count
}

func (s cutout) String() string { return fmt.Sprintf("%s[%d]", s.name, s.rec) }

func slabsOf(r *read.Reader) (out []cutout) {
	for v := range r.Data.Schema.Vars {
		recs := int64(1)
		if r.Data.Schema.Vars[v].Record {
			recs = r.Data.Records
		}
		for rec := range recs {
			out = append(out, cutout{r.Data.Schema.Vars[v].Name, rec, dataset.VarID(v)})
		}
	}
	return out
}

// readout reads every cutout in every way, and returns the values and errors in order.
func readout(t testing.TB, files map[string][]byte) (values [][]float64, errs []error) {
	t.Helper()
	fs := memOf(t, files)
	for _, way := range readings {
		o := way.o
		o.Workers = 1
		r, err := read.OpenWith(t.Context(), sampleBase, &o, dataset.Knobs{Fs: fs})
		if err != nil {
			return nil, []error{err}
		}
		for _, s := range slabsOf(r) {
			if r.Data.Schema.Vars[s.v].Type == cdf5.Char && way.name != "whole" {
				continue
			}
			x, err := way.read(t.Context(), r, s)
			values, errs = append(values, x), append(errs, err)
		}
		r.Close()
	}
	return values, errs
}

// labels returns the names of the ways, and the cutouts, in the order of readout.
func labels(t testing.TB, files map[string][]byte) (ways []string, out []cutout) {
	r := opened(t, memOf(t, files), sampleBase, nil)
	for _, way := range readings {
		for _, s := range slabsOf(r) {
			if r.Data.Schema.Vars[s.v].Type != cdf5.Char || way.name == "whole" {
				ways, out = append(ways, way.name), append(out, s)
			}
		}
	}
	return ways, out
}

// convertTo converts a dataset to a canonical file, either directly or through blobs, and returns the file.
func convertTo(t testing.TB, files map[string][]byte, blobs bool, o read.OpenOptions) ([]byte, error) {
	t.Helper()
	fs := memOf(t, files)
	o.Workers = 1
	r, err := read.OpenWith(t.Context(), sampleBase, &o, dataset.Knobs{Fs: fs})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := convert.ConvertOptions{Workers: 1, Durability: dataset.DurableNone}
	if blobs {
		c.Blobs, c.Layout, c.Ranks = true, dataset.ProcessCentric, 2
		c.DropUncovered = true
		if err := convert.Convert(t.Context(), r, "again.h5", &c); err != nil {
			if n := leftovers(t, fs, "again.h5"); len(n) > 0 {
				t.Errorf("left over by a conversion that failed: %v", n)
			}
			return nil, err
		}
		q := opened(t, fs, "again.h5", nil)
		r, c = q, convert.ConvertOptions{Workers: 1, Durability: dataset.DurableNone}
	}
	if err := convert.Convert(t.Context(), r, "out.nc", &c); err != nil {
		if n := leftovers(t, fs, "out.nc"); len(n) > 0 {
			t.Errorf("left over by a conversion that failed: %v", n)
		}
		return nil, err
	}
	return memFiles(t, fs)["out.nc"], nil
}

func leftovers(t testing.TB, m *vfs.Mem, name string) (out []string) {
	for n := range memFiles(t, m) {
		if strings.Contains(n, name) {
			out = append(out, n)
		}
	}
	return out
}
