package pio

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/radix"
	"blobio/internal/cdf5/slab"
)

// A Decomp is PIO's decomposition: each rank's elements of an array, in the order of the rank's memory. It is immutable and
// belongs to its System. Any file and variable with matching dimensions can use it, also after Close.
type Decomp struct {
	s        *System
	t        cdf5.Type
	dims     []int64
	elems    int64 // number of elements of dims
	compdof  []int64
	readonly bool // WriteDarray rejects it

	runs  []decomp.Req // of the array: sorted, without repetition; no run crosses the end of a row
	kept  int64        // number of elements in runs
	spans []span       // spans of memory that are in the file; nil if place is set
	place []int64      // if unsorted or repeated: the index in runs of each element of memory, -1 for a hole

	key   [2]uint64 // equal for decompositions with the same maps on all ranks
	total int64     // sum of kept over all ranks
	most  int64     // maximum of kept over all ranks
	once  int8      // 1: no element has two owners, -1: some element has; 0: unknown
	parts []*Decomp // of records
}

// span is n elements of memory, starting at at.
type span struct{ at, n int64 }

// InitDecomp makes a decomposition of elements of type t over an array of dims, slowest first. For each element of the rank's
// memory, compdof has its index in the array, in C order and from 1. 0 stands for an element that no file has. The Decomp keeps
// compdof, and the caller must not change it. With readOnly, WriteDarray by the decomposition is EINVAL. Collective.
func (s *System) InitDecomp(ctx context.Context, t cdf5.Type, dims, compdof []int64, readOnly bool) (*Decomp, error) {
	ctx = comm.In(ctx, "System.InitDecomp")
	if err := s.usable(); err != nil {
		return nil, err
	}
	d := &Decomp{s: s, t: t, dims: slices.Clone(dims), compdof: compdof, readonly: readOnly}
	err := d.make()
	var sum [2]uint64
	if err == nil {
		sum = d.prints(s.c.Rank(), s.c.Size())
	}
	got, err := agreeMin(ctx, s.c, err, ^d.kept, d.elems, ^d.elems)
	if err != nil {
		return nil, err
	}
	if got[1] != ^got[2] {
		return nil, failed(EINVAL, "decomposition: the ranks' arrays have %d to %d elements, want equal arrays", got[1], ^got[2])
	}
	d.most = ^got[0]
	all, err := s.c.AllreduceInt64(ctx, []int64{d.kept, int64(sum[0]), int64(sum[1]), int64(d.excess(s.c.Rank(), s.c.Size()))}, comm.Sum)
	if err != nil {
		return nil, err
	}
	d.total, d.key = all[0], [2]uint64{uint64(all[1]), uint64(all[2])}
	switch {
	case d.total == d.elems && all[3] == 0:
		d.once = 1
	case d.total >= d.elems:
		d.once = -1
	}
	return d, nil
}

// Wrap brings indices of a map that exceed an array of dims back into the array: after the last index comes the first, as in
// NCAR's PIO.
func Wrap(dims, compdof []int64) {
	d := Decomp{t: cdf5.Byte, dims: dims}
	if d.make() != nil {
		return
	}
	for i, p := range compdof {
		if p > d.elems {
			compdof[i] = (p-1)%d.elems + 1
		}
	}
}

// InitDecompBlock is InitDecomp for a block: count[i] elements from start[i], counted from 0, along each dimension. Collective.
func (s *System) InitDecompBlock(ctx context.Context, t cdf5.Type, dims, start, count []int64) (*Decomp, error) {
	ctx = comm.In(ctx, "System.InitDecompBlock")
	if err := s.usable(); err != nil {
		return nil, err
	}
	var list []int64
	err := checkBlock(dims, start, count)
	if err == nil && product(count) > math.MaxInt32 {
		err = failed(ENOMEM, "decomposition: the block has %d elements, want at most %d", product(count), math.MaxInt32)
	}
	if err == nil {
		take := make([]slab.Index, len(dims))
		for i := range dims {
			take[i] = slab.Index{{First: start[i], Count: count[i], Stride: 1}}
		}
		if part := slab.NewArray(dims, take); product(count) > 0 {
			for off, n := range part.Runs(0, part.Elems()) {
				for i := range n {
					list = append(list, off+i+1)
				}
			}
		}
	}
	if err := agree(ctx, s.c, err); err != nil {
		return nil, err
	}
	return s.InitDecomp(ctx, t, dims, list, false)
}

func checkBlock(dims, start, count []int64) error {
	if len(start) != len(dims) || len(count) != len(dims) {
		return failed(EINVAL, "decomposition: start and count have %d and %d dimensions, want %d", len(start), len(count), len(dims))
	}
	for i := range dims {
		if start[i] < 0 || count[i] < 0 || start[i] > dims[i]-count[i] {
			return failed(EINVAL, "decomposition: dimension %d: %d elements from index %d on, want a range within %d elements", i, count[i], start[i], dims[i])
		}
	}
	return nil
}

// Type returns the type of the elements in memory.
func (d *Decomp) Type() cdf5.Type { return d.t }

// Dims returns the lengths of the array's dimensions, slowest first. The caller must not change the result.
func (d *Decomp) Dims() []int64 { return d.dims }

// Map returns this rank's compdof of InitDecomp. The caller must not change it.
func (d *Decomp) Map() []int64 { return d.compdof }

// Len returns the number of elements in this rank's memory, including elements that no file has.
func (d *Decomp) Len() int64 { return int64(len(d.compdof)) }

// make checks the arguments and makes this rank's runs.
func (d *Decomp) make() error {
	if !d.t.Valid() {
		return failed(EBADTYPE, "decomposition of type %d, want 1..11", d.t)
	}
	if len(d.dims) == 0 {
		return failed(EINVAL, "decomposition without dimensions, want 1 or more")
	}
	d.elems = 1
	for i, n := range d.dims {
		if n < 1 {
			return failed(EINVAL, "decomposition: dimension %d has length %d, want 1 or more", i, n)
		}
		hi, lo := bits.Mul64(uint64(d.elems), uint64(n))
		if hi != 0 || lo > math.MaxInt64/8 {
			return failed(EVARSIZE, "decomposition: shape %v has too many elements", d.dims)
		}
		d.elems = int64(lo)
	}
	last, sorted := int64(0), true
	for i, p := range d.compdof {
		if p < 0 || p > d.elems {
			return failed(EINVAL, "decomposition: offset %d of element %d, want 1..%d, or 0 for a hole", p, i, d.elems)
		}
		if p == 0 {
			continue
		}
		sorted = sorted && p > last
		last = p
	}
	if sorted {
		d.straight()
	} else {
		d.sort()
	}
	return nil
}

// add adds an element, counted from 0, to the runs.
func (d *Decomp) add(at int64) {
	d.kept++
	row := d.dims[len(d.dims)-1]
	if k := len(d.runs) - 1; k >= 0 && d.runs[k].End() == at && at%row != 0 && d.runs[k].Length < math.MaxInt32 {
		d.runs[k].Length++
		return
	}
	d.runs = append(d.runs, decomp.Req{Offset: at, Length: 1})
}

// records splits a decomposition that begins with n records into one decomposition for each record.
func (d *Decomp) records(n int64) []*Decomp {
	if n == 1 {
		return []*Decomp{d}
	}
	if int64(len(d.parts)) == n {
		return d.parts
	}
	each := d.elems / n
	d.parts = make([]*Decomp, n)
	for k := range d.parts {
		p := &Decomp{s: d.s, t: d.t, dims: append([]int64{1}, stripped(d.dims)[1:]...), elems: each, most: min(d.most, each)}
		p.key = [2]uint64{mix(d.key[0] + uint64(k)), mix(d.key[1] ^ uint64(k))}
		if !d.holes() { // otherwise total stays 0, a lower bound
			p.total = each
		}
		if d.once == 1 {
			p.once = 1
		}
		d.parts[k] = p
	}
	for _, q := range d.runs {
		for _, r := range rows(q.Offset, q.End(), each) {
			p := d.parts[r.Offset/each]
			p.runs, p.kept = append(p.runs, decomp.Req{Offset: r.Offset % each, Length: r.Length}), p.kept+r.Length
		}
	}
	return d.parts
}

func (d *Decomp) straight() {
	for i, p := range d.compdof {
		if p == 0 {
			continue
		}
		d.add(p - 1)
		if k := len(d.spans) - 1; k >= 0 && d.spans[k].at+d.spans[k].n == int64(i) {
			d.spans[k].n++
			continue
		}
		d.spans = append(d.spans, span{int64(i), 1})
	}
}

func (d *Decomp) sort() {
	order := make([]element, 0, len(d.compdof))
	d.place = make([]int64, len(d.compdof))
	for i, p := range d.compdof {
		if d.place[i] = -1; p > 0 {
			order = append(order, element{p, int64(i)})
		}
	}
	radix.Sort(order, func(e *element) int64 { return e.p })
	last := int64(0)
	for _, e := range order {
		if e.p != last {
			d.add(e.p - 1)
			last = e.p
		}
		d.place[e.i] = d.kept - 1
	}
}

// element is an element of memory at index i, with its index p in the array.
type element struct{ p, i int64 }
