package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// history is a way to write the toy dataset with 3 records.
type history struct {
	name     string
	o        settings
	first    int64 // records of Create; the others are appended, each by itself
	separate bool  // ranks share no heap
}

func histories() (out []history) {
	for _, piece := range []int64{0, 100} { // of one piece, of many
		for _, layout := range []Layout{VariableCentric, ProcessCentric} {
			for _, subfiles := range []int{1, 2} {
				o := settings{Options: Options{Layout: layout, Subfiles: subfiles}, knobs: knobs{piece: piece}}
				name := fmt.Sprintf("%v-%d-piece=%d", layout, subfiles, piece)
				out = append(out, history{name: name, o: o, first: 3}, history{name: name + "-appended", o: o, first: 1})
				if layout == ProcessCentric {
					o.Records = 3
					out = append(out, history{name: name + "-known", o: o, first: 3})
				}
			}
		}
	}
	return out
}

// write returns the files of the dataset.
func (h history) write(t testing.TB) map[string][]byte {
	t.Helper()
	m := vfs.NewMem()
	toy := newToy(3)
	o := h.o
	o.Durability, o.fs = DurableNone, m
	if err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		c = isolateIf(c, h.separate)
		must(toy.write(ctx, c, sampleBase, h.first, &o))
		for rec := h.first; rec < 3; rec++ {
			w := need(appendWith(ctx, c, sampleBase, toy.parts(c.Rank()), &o))
			must(toy.put(w, c.Rank(), rec, false))
			must(w.Close(ctx))
		}
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	return memFiles(t, m)
}

// cutout is what is read of a variable's record: all of it, and some elements.
type cutout struct {
	name string
	rec  int64
	v    VarID
}

// readings are ways to read one record of a variable. Each returns the bytes of what it read, or an error.
var readings = []struct {
	name string
	o    OpenOptions
	read func(ctx context.Context, r *Reader, s cutout) ([]float64, error)
}{
	{"whole", OpenOptions{}, readWhole},
	{"hyperslab", OpenOptions{}, func(ctx context.Context, r *Reader, s cutout) ([]float64, error) {
		start, count := s.corner(r)
		out := make([]float64, product(count))
		return out, r.Read(ctx, s.name, start, count, out)
	}},
	{"runs", OpenOptions{}, func(ctx context.Context, r *Reader, s cutout) (out []float64, err error) {
		n := r.schema.Elems(s.v)
		var runs []decomp.Req
		for at := int64(0); at < n; at += 11 {
			runs = append(runs, decomp.Req{Offset: at, Length: 1})
		}
		for range 2 { // what is known to be good is not compared again, and stays so
			out = make([]float64, len(runs))
			if err := r.ReadRuns(ctx, s.name, s.rec, runs, out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}},
	{"all but one element", OpenOptions{}, func(ctx context.Context, r *Reader, s cutout) ([]float64, error) {
		n := r.schema.Elems(s.v)
		out := make([]float64, n-1)
		return out, r.ReadRuns(ctx, s.name, s.rec, []decomp.Req{{Offset: 0, Length: n / 2}, {Offset: n/2 + 1, Length: n - n/2 - 1}}, out)
	}},
	{"5 processes", OpenOptions{}, func(ctx context.Context, r *Reader, s cutout) ([]float64, error) { // a restart on other ranks: none reads an extent whole
		n := r.schema.Elems(s.v)
		out := make([]float64, n)
		var errs []error
		for k := range int64(5) {
			lo, hi := k*n/5, (k+1)*n/5
			own, err := openWith(ctx, r.base, nil, knobs{fs: r.fs})
			if err == nil {
				err = errors.Join(own.ReadRuns(ctx, s.name, s.rec, []decomp.Req{{Offset: lo, Length: hi - lo}}, out[lo:hi]), own.Close())
			}
			errs = append(errs, err)
		}
		return out, errors.Join(errs...)
	}},
	{"blobs", OpenOptions{}, func(ctx context.Context, r *Reader, s cutout) (out []float64, err error) {
		if r.schema.vars[s.v].Decomp == 0 {
			return nil, nil
		}
		for b, err := range r.Blobs(ctx, s.name, s.rec) {
			if err != nil {
				return nil, err
			}
			raw, _ := cdf5.Bytes(b.Data)
			n, typ, _ := cdf5.SliceLen(b.Data)
			x := make([]float64, n)
			if err := cdf5.FromFile(x, raw, hostBig, typ); err != nil {
				return nil, err
			}
			out = append(out, x...)
		}
		return out, nil
	}},
	{"rank's blob", OpenOptions{}, func(ctx context.Context, r *Reader, s cutout) ([]float64, error) {
		if r.schema.vars[s.v].Decomp == 0 {
			return nil, nil
		}
		b, err := r.RankBlob(ctx, s.name, s.rec, 1)
		if err != nil {
			return nil, err
		}
		n, typ, _ := cdf5.SliceLen(b.Data)
		raw, _ := cdf5.Bytes(b.Data)
		out := make([]float64, n)
		return out, cdf5.FromFile(out, raw, hostBig, typ)
	}},
}

func readWhole(ctx context.Context, r *Reader, s cutout) ([]float64, error) {
	start, count := s.box(r)
	if r.schema.vars[s.v].Type == cdf5.Char {
		b := make([]byte, product(count))
		if err := r.Read(ctx, s.name, start, count, b); err != nil {
			return nil, err
		}
		out := make([]float64, len(b))
		for i := range b {
			out[i] = float64(b[i])
		}
		return out, nil
	}
	out := make([]float64, product(count))
	return out, r.Read(ctx, s.name, start, count, out)
}

// box is all of the record.
func (s cutout) box(r *Reader) (start, count []int64) {
	shape := r.schema.Shape(s.v)
	start, count = make([]int64, len(shape)), slices.Clone(shape)
	if r.schema.vars[s.v].Record {
		start, count = append([]int64{s.rec}, start...), append([]int64{1}, count...)
	}
	return start, count
}

// corner is some elements of it, not next to each other.
func (s cutout) corner(r *Reader) (start, count []int64) {
	start, count = s.box(r)
	last := len(count) - 1
	if last == 0 && r.schema.vars[s.v].Record {
		return start, count
	}
	start[last] = count[last] / 2
	count[last] = 1
	return start, count
}

func (s cutout) String() string { return fmt.Sprintf("%s[%d]", s.name, s.rec) }

func slabsOf(r *Reader) (out []cutout) {
	for v := range r.schema.vars {
		recs := int64(1)
		if r.schema.vars[v].Record {
			recs = r.records
		}
		for rec := range recs {
			out = append(out, cutout{r.schema.vars[v].Name, rec, VarID(v)})
		}
	}
	return out
}

// readout is what each reading gave of each slab, in order.
func readout(t testing.TB, files map[string][]byte) (values [][]float64, errs []error) {
	t.Helper()
	fs := memOf(t, files)
	for _, way := range readings {
		o := way.o
		o.Workers = 1
		r, err := openWith(t.Context(), sampleBase, &o, knobs{fs: fs})
		if err != nil {
			return nil, []error{err}
		}
		for _, s := range slabsOf(r) {
			if r.schema.vars[s.v].Type == cdf5.Char && way.name != "whole" {
				continue
			}
			x, err := way.read(t.Context(), r, s)
			values, errs = append(values, x), append(errs, err)
		}
		r.Close()
	}
	return values, errs
}

// labels are the slabs of the values of readout.
func labels(t testing.TB, files map[string][]byte) (ways []string, out []cutout) {
	r := opened(t, memOf(t, files), sampleBase, nil)
	for _, way := range readings {
		for _, s := range slabsOf(r) {
			if r.schema.vars[s.v].Type != cdf5.Char || way.name == "whole" {
				ways, out = append(ways, way.name), append(out, s)
			}
		}
	}
	return ways, out
}

// convertTo converts to canonical form, or to blobs and from there to canonical form, and returns the file.
func convertTo(t testing.TB, files map[string][]byte, blobs bool, o OpenOptions) ([]byte, error) {
	t.Helper()
	fs := memOf(t, files)
	o.Workers = 1
	r, err := openWith(t.Context(), sampleBase, &o, knobs{fs: fs})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := ConvertOptions{Workers: 1, Durability: DurableNone}
	if blobs {
		c.Blobs, c.Layout, c.Ranks = true, ProcessCentric, 2
		c.DropUncovered = true
		if err := Convert(t.Context(), r, "again.h5", &c); err != nil {
			if n := leftovers(t, fs, "again.h5"); len(n) > 0 {
				t.Errorf("left over by a conversion that failed: %v", n)
			}
			return nil, err
		}
		q := opened(t, fs, "again.h5", nil)
		r, c = q, ConvertOptions{Workers: 1, Durability: DurableNone}
	}
	if err := Convert(t.Context(), r, "out.nc", &c); err != nil {
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
