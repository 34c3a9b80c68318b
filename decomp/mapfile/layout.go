package mapfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

// WriteOptions are options of WriteCDF and WriteHDF5. nil means the defaults.
type WriteOptions struct {
	// Wide writes 64-bit numbers. E3SM-IO cannot read such files. By default a number over 2^31-1 is an error (ErrTooLarge).
	Wide bool
}

// Descriptions of the variables, as in dat2nc.
const (
	descNReqs      = "Number of noncontiguous requests per process"
	descFillStarts = "Start index in offsets[] and lengths[] for requests to be written with fill values"
	descOffsets    = "Flattened starting indices of noncontiguous requests"
	descLengths    = "Lengths of noncontiguous requests"
	descRawNReqs   = "Number of file offsets accessed per process before merge"
	descRawOffsets = "File offsets accessed before merge"
)

// A dim, an attr and a variable are common to CDF and HDF5 files.
type dim struct {
	name string
	n    int64
}

type attr struct {
	name string
	ints []int64 // nil: text attribute
	text string
}

type variable struct {
	name  string
	dim   int
	atts  []attr
	write func(*numWriter)
}

// contents is the content of a map file, independent of the format.
type contents struct {
	dims  []dim
	atts  []attr
	vars  []variable
	width int // bytes per number
}

// newContents checks f and lists its contents.
func newContents(f *File, o *WriteOptions) (*contents, error) {
	if o == nil {
		o = new(WriteOptions)
	}
	c := &contents{width: 4}
	most := int64(math.MaxInt32)
	if o.Wide {
		c.width, most = 8, math.MaxInt64
	}
	if len(f.Maps) == 0 || f.Procs < 1 {
		return nil, fault.Usage("the file has %d maps and %d processes, want at least 1 of each", len(f.Maps), f.Procs)
	}
	c.dims = []dim{{"num_decomp", int64(len(f.Maps))}, {"decomp_nprocs", int64(f.Procs)}}
	if f.CommandLine != "" {
		c.atts = append(c.atts, attr{name: "command_line", text: f.CommandLine})
	}
	for k := range f.Maps {
		if err := c.addMap(f, k, most); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *contents) addMap(f *File, k int, most int64) error {
	r, p := &f.Maps[k], fmt.Sprintf("D%d.", k+1)
	switch {
	case r.Reqs == nil || r.Procs() != f.Procs:
		return fault.Usage("map D%d does not have %d processes", k+1, f.Procs)
	case r.FillStarts != nil && len(r.FillStarts) != f.Procs:
		return fault.Usage("map D%d: %d fill starts, want %d", k+1, len(r.FillStarts), f.Procs)
	case r.Elems != nil && (r.Elems.Ranks() != f.Procs || r.Elems.Elems() != r.Reqs.Elems()):
		return fault.Usage("map D%d: the raw offsets belong to another map", k+1)
	}
	s := r.Reqs.Stats()
	if s.Reqs == 0 {
		return fault.Usage("map D%d has no requests", k+1)
	}
	if r.Reqs.Elems() > most || s.Reqs > most {
		return fmt.Errorf("map D%d has %d elements and %d requests, want at most %d unless WriteOptions.Wide is set: %w",
			k+1, r.Reqs.Elems(), s.Reqs, most, fault.ErrTooLarge)
	}
	owned, err := r.owned()
	if err != nil {
		return err
	}
	full, err := r.fullyCovered(owned)
	if err != nil {
		return err
	}
	runs := owned.Stats() // the minimum and maximum lengths exclude fillers, too
	dims := r.Dims()
	c.atts = append(c.atts,
		attr{name: p + "ndims", ints: []int64{int64(len(dims))}},
		attr{name: p + "dims", ints: dims},
		attr{name: p + "max_nreqs", ints: []int64{s.MaxReqs}},
		attr{name: p + "min_nreqs", ints: []int64{s.MinReqs}},
		attr{name: p + "fully_covered", text: fmt.Sprint(full)})
	total := len(c.dims)
	c.dims = append(c.dims, dim{p + "total_nreqs", s.Reqs})
	perProc := func(name, desc string, of func(int) int64) {
		c.vars = append(c.vars, variable{name: p + name, dim: 1, atts: describeAs(desc), write: func(w *numWriter) {
			for i := range f.Procs {
				w.put(of(i))
			}
		}})
	}
	perReq := func(name, desc string, m *decomp.Map, dim int, of func(*numWriter, decomp.Req), more ...attr) {
		c.vars = append(c.vars, variable{name: p + name, dim: dim, atts: append(describeAs(desc), more...), write: func(w *numWriter) {
			for i := range f.Procs {
				for q := range m.Reqs(i) {
					of(w, q)
				}
			}
		}})
	}
	perProc("nreqs", descNReqs, r.NReqs)
	perProc("fill_starts", descFillStarts, r.FillStart)
	perReq("offsets", descOffsets, r.Reqs, total, func(w *numWriter, q decomp.Req) { w.put(q.Offset) })
	perReq("lengths", descLengths, r.Reqs, total, func(w *numWriter, q decomp.Req) { w.put(q.Length) },
		attr{name: "max", ints: []int64{runs.MaxRun}}, attr{name: "min", ints: []int64{runs.MinRun}})
	if r.Elems == nil || r.Elems.Total() == 0 {
		return nil
	}
	if r.Elems.Total() > most {
		return fmt.Errorf("map D%d has %d raw offsets, want at most %d unless WriteOptions.Wide is set: %w", k+1, r.Elems.Total(), most, fault.ErrTooLarge)
	}
	c.dims = append(c.dims, dim{p + "total_raw_nreqs", r.Elems.Total()})
	perProc("raw_nreqs", descRawNReqs, r.Elems.Count)
	perReq("raw_offsets", descRawOffsets, r.Elems, total+1, func(w *numWriter, q decomp.Req) {
		for i := range q.Length {
			w.put(q.Offset + i + 1)
		}
	})
	return nil
}

func describeAs(s string) []attr { return []attr{{name: "description", text: s}} }

// owned returns the map without fillers.
func (r *Raw) owned() (*decomp.Map, error) {
	if r.FillStarts == nil {
		return r.Reqs, nil
	}
	b := decomp.NewBuilder(r.Dims(), r.Procs())
	var buf []decomp.Req
	for p := range r.Procs() {
		buf = r.Reqs.AppendReqs(buf[:0], p)
		if err := b.Set(p, buf[:r.FillStart(p)]); err != nil {
			return nil, err
		}
	}
	return b.Map()
}

// fullyCovered reports whether each element is in a request of m. It computes this only if the file has no value.
func (r *Raw) fullyCovered(m *decomp.Map) (bool, error) {
	if r.FullyCovered != nil {
		return *r.FullyCovered, nil
	}
	c, err := m.Coverage()
	return c.Uncovered == 0, err
}

// numWriter writes integers of one width and keeps the first error.
type numWriter struct {
	w     io.Writer
	order binary.AppendByteOrder
	width int
	buf   []byte
	n     int64 // bytes written, flushed or not
	err   error
}

func (w *numWriter) put(v int64) {
	if w.width == 4 {
		w.buf = w.order.AppendUint32(w.buf, uint32(v))
	} else {
		w.buf = w.order.AppendUint64(w.buf, uint64(v))
	}
	w.n += int64(w.width)
	if len(w.buf) >= 1<<16-8 {
		w.flush()
	}
}

func (w *numWriter) bytes(b []byte) {
	w.flush()
	w.n += int64(len(b))
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// pad writes zeros up to offset off.
func (w *numWriter) pad(off int64) {
	zeros := make([]byte, 4096)
	for w.n < off && w.err == nil {
		w.bytes(zeros[:min(off-w.n, int64(len(zeros)))])
	}
}

func (w *numWriter) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.w.Write(w.buf)
	}
	w.buf = slices.Grow(w.buf[:0], 1<<16)
}
