package pio

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/cdf5/slab"
)

// A Decomp is PIO's decomposition: the elements of an array that each rank has, in the order of its memory. It does not change, belongs to its
// System, and may be used for any file and variable of fitting dimensions, also after Close.
type Decomp struct {
	s        *System
	t        cdf5.Type
	dims     []int64
	elems    int64 // of dims
	compdof  []int64
	readonly bool // WriteDarray refuses it

	runs  []decomp.Req // of the array, sorted, each element once, none beyond the end of a row
	kept  int64        // elements of runs
	spans []span       // of memory that are in the file; nil with place
	place []int64      // where not sorted or repeated: of each element of memory its number in runs, -1 of a hole

	key   [2]uint64 // the same for decompositions of the same map of all ranks
	total int64     // sum of kept over all ranks
	most  int64     // greatest kept of a rank
	once  int8      // 1: no element has two owners, -1: one has; 0: not known
}

// span is n elements of memory from at on.
type span struct{ at, n int64 }

// InitDecomp makes a decomposition of elements of type t over an array of dims, slowest first. compdof has for each element of the rank's memory its
// place in the array, in C order and counted from 1, or 0 for an element that is in no file. compdof is kept, and must not be changed. With readOnly WriteDarray by
// the decomposition is EINVAL. Collective.
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
		return nil, failed(EINVAL, "decomposition: ranks have arrays of %d to %d elements, want one array", got[1], ^got[2])
	}
	d.most = ^got[0]
	all, err := s.c.AllreduceInt64(ctx, []int64{d.kept, int64(sum[0]), int64(sum[1])}, comm.Sum)
	if err != nil {
		return nil, err
	}
	d.total, d.key = all[0], [2]uint64{uint64(all[1]), uint64(all[2])}
	return d, nil
}

// Wrap brings places of a map that are beyond the end of an array of dims back into it: after the last one comes the first, as in NCAR's PIO.
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

// InitDecompBlock is InitDecomp of a block: count[i] elements from start[i] on, counted from 0, along each dimension. Collective.
func (s *System) InitDecompBlock(ctx context.Context, t cdf5.Type, dims, start, count []int64) (*Decomp, error) {
	ctx = comm.In(ctx, "System.InitDecompBlock")
	if err := s.usable(); err != nil {
		return nil, err
	}
	var list []int64
	err := checkBlock(dims, start, count)
	if err == nil && product(count) > math.MaxInt32 {
		err = failed(ENOMEM, "decomposition: a block of %d elements, want at most %d", product(count), math.MaxInt32)
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
		return failed(EINVAL, "decomposition: start and count of %d and %d dimensions, want %d", len(start), len(count), len(dims))
	}
	for i := range dims {
		if start[i] < 0 || count[i] < 0 || start[i] > dims[i]-count[i] {
			return failed(EINVAL, "decomposition: dimension %d: %d elements from %d on, want within %d", i, count[i], start[i], dims[i])
		}
	}
	return nil
}

// Type returns the type of the elements in memory.
func (d *Decomp) Type() cdf5.Type { return d.t }

// Dims returns the lengths of the array's dimensions, slowest first. The result must not be changed.
func (d *Decomp) Dims() []int64 { return d.dims }

// Map returns the compdof of InitDecomp on this rank. It must not be changed.
func (d *Decomp) Map() []int64 { return d.compdof }

// Len returns the number of elements in this rank's memory, also of elements that are in no file.
func (d *Decomp) Len() int64 { return int64(len(d.compdof)) }

// make checks the arguments and makes the runs of this rank.
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
			return failed(EVARSIZE, "decomposition: %v are too many elements", d.dims)
		}
		d.elems = int64(lo)
	}
	last, sorted := int64(0), true
	for i, p := range d.compdof {
		if p < 0 || p > d.elems {
			return failed(EINVAL, "decomposition: place %d of element %d, want 1..%d, or 0 for none", p, i, d.elems)
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
	last := int64(0)
	for _, e := range sorted(order, d.elems) {
		if e.p != last {
			d.add(e.p - 1)
			last = e.p
		}
		d.place[e.i] = d.kept - 1
	}
}

// element is one of memory, at i, with its place p in the array.
type element struct{ p, i int64 }

// sorted returns elements by place, in a stable order. It sorts digit by digit, since maps are long. limit is the greatest place.
func sorted(list []element, limit int64) []element {
	const bits = 11
	other := make([]element, len(list))
	for shift := 0; limit>>shift > 0; shift += bits {
		var at [1 << bits]int
		for _, e := range list {
			at[e.p>>shift&(1<<bits-1)]++
		}
		sum := 0
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, e := range list {
			k := &at[e.p>>shift&(1<<bits-1)]
			other[*k] = e
			*k++
		}
		list, other = other, list
	}
	return list
}
