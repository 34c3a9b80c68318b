package h5

import (
	"strings"

	"blobio/internal/base/chunks"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// convertPiece is the maximum buffer for reads that convert.
const convertPiece = 1 << 20

// Read reads the box of count elements at start into dst, row-major. dst is a slice of numbers with exactly that many elements.
// Elements are converted if their type differs from the file's; an element that does not fit is ErrRange. A nil start is the
// origin, and a nil count is all elements from start.
func (d *Dataset) Read(start, count []int64, dst any) error {
	start, count, n, err := d.box(start, count)
	if err != nil {
		return err
	}
	m, have, mem, ok := natural(dst)
	switch {
	case !ok:
		return fault.Class(fault.ErrUsage, "destination is a %T, want a slice of numbers", dst)
	case have != n:
		return fault.Class(fault.ErrUsage, "destination has %d elements, want %d", have, n)
	case !d.typ.Numeric():
		return d.f.errAt(d.f.base+d.h.addr, "dataset "+d.path, fault.ErrUnsupported, "no conversion for elements of type %s", d.typ)
	case sameBits(d.typ, m):
		if err := d.readBox(start, count, mem); err != nil {
			return err
		}
		toHost(mem, d.typ)
		return nil
	}
	buf := make([]byte, min(n*d.typ.Size(), convertPiece+d.typ.Size()))
	var first int64
	return pieces(start, count, convertPiece/d.typ.Size(), func(start, count []int64, k int64) error {
		b := buf[:k*d.typ.Size()]
		if err := d.readBox(start, count, b); err != nil {
			return err
		}
		err := decodeSlice(elem.Sub(dst, int(first), int(first+k)), b, d.typ, first)
		first += k
		return err
	})
}

// ReadRaw reads the box of count elements at start into dst without conversion. len(dst) must be their number times
// Type().Size().
func (d *Dataset) ReadRaw(start, count []int64, dst []byte) error {
	start, count, n, err := d.box(start, count)
	if err != nil {
		return err
	}
	if int64(len(dst)) != n*d.typ.Size() {
		return fault.Class(fault.ErrUsage, "destination has %d bytes, want %d", len(dst), n*d.typ.Size())
	}
	return d.readBox(start, count, dst)
}

// box applies defaults and checks the selection.
func (d *Dataset) box(start, count []int64) (s, c []int64, n int64, err error) {
	if d.noRead != nil {
		return nil, nil, 0, d.noRead
	}
	dims := d.space.dims
	if start == nil {
		start = make([]int64, len(dims))
	}
	if len(start) != len(dims) || count != nil && len(count) != len(dims) {
		return nil, nil, 0, fault.Class(fault.ErrUsage, "start and count have ranks %d and %d, want %d", len(start), len(count), len(dims))
	}
	all := count == nil
	if all {
		count = make([]int64, len(dims))
	}
	for i, size := range dims {
		if all {
			count[i] = size - start[i]
		}
		if start[i] < 0 || count[i] < 0 || start[i] > size || count[i] > size-start[i] {
			return nil, nil, 0, fault.Class(fault.ErrUsage, "start %v and count %v, want a range inside %v", start, count, dims)
		}
	}
	n, _ = elems(count)
	if d.space.null {
		n = 0
	}
	return start, count, n, nil
}

// readBox reads a checked box, which may be empty.
func (d *Dataset) readBox(start, count []int64, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	if d.lay.storage == Chunked {
		return d.readChunks(start, count, dst)
	}
	w := d.typ.Size()
	return runs(d.space.dims, start, count, func(at, pos, n int64) error {
		return d.readExtent(dst[pos*w:(pos+n)*w], at*w)
	})
}

// runs visits the contiguous runs of a box in an array of this shape: n elements, at index at in the array and pos in the box.
func runs(dims, start, count []int64, visit func(at, pos, n int64) error) error {
	rank := len(dims)
	// The box covers all indices of the dimensions after k, so these dimensions join in one run. The box may cover a part of
	// dimension k.
	k, run, unit := rank, int64(1), int64(1)
	for k > 0 {
		k--
		run = count[k] * unit
		if count[k] != dims[k] {
			break
		}
		unit *= dims[k]
	}
	strides := make([]int64, rank)
	at, s := int64(0), int64(1)
	for i := rank - 1; i >= 0; i-- {
		strides[i] = s
		at += start[i] * s
		s *= dims[i]
	}
	first := at
	idx := make([]int64, k)
	for pos := int64(0); ; pos += run {
		if err := visit(at, pos, run); err != nil {
			return err
		}
		if !chunks.Next(idx, count) {
			return nil
		}
		at = first
		for i, x := range idx {
			at += x * strides[i]
		}
	}
}

// pieces cuts a box into consecutive boxes of at most limit elements, in row-major order.
func pieces(start, count []int64, limit int64, visit func(start, count []int64, n int64) error) error {
	n, _ := elems(count)
	if n == 0 {
		return nil
	}
	if n <= limit {
		return visit(start, count, n)
	}
	k := 0
	for count[k] == 1 {
		k++
	}
	step := max(1, limit/(n/count[k]))
	s, c := append([]int64(nil), start...), append([]int64(nil), count...)
	for at := int64(0); at < count[k]; at += step {
		s[k], c[k] = start[k]+at, min(step, count[k]-at)
		if err := pieces(s, c, limit, visit); err != nil {
			return err
		}
	}
	return nil
}

// An Extent is a stored chunk, or all data of a dataset without chunks.
type Extent struct {
	Offset  int64  // byte offset in the file
	Bytes   int64  // stored length in bytes
	Content int64  // length after decoding, with the part of a chunk beyond the array
	Codec   string // applied filters, such as "shuffle+deflate"; "" if none
}

// Stored returns the extent with the element at index, and the byte offset of the element in its content. ok is false if the
// element was never written; it then reads as the fill value.
func (d *Dataset) Stored(index []int64) (p Extent, within int64, ok bool, err error) {
	l, dims := &d.lay, d.space.dims
	if len(index) != len(dims) {
		return p, 0, false, fault.Class(fault.ErrUsage, "%d indices, want %d", len(index), len(dims))
	}
	for i, x := range index {
		if x < 0 || x >= dims[i] {
			return p, 0, false, fault.Class(fault.ErrUsage, "index %d of dimension %d, want 0 to %d", x, i, dims[i]-1)
		}
	}
	if d.noRead != nil {
		return p, 0, false, d.noRead
	}
	if l.storage == Chunked {
		return d.storedChunk(index)
	}
	for i, x := range index {
		within = within*dims[i] + x
	}
	p = Extent{Offset: l.dataOff, Bytes: d.Bytes(), Content: d.Bytes()}
	if l.storage == Contiguous {
		if l.addr == undef {
			return Extent{}, 0, false, nil
		}
		p.Offset = d.f.base + l.addr
		if l.addr > d.f.src.size-d.f.base || p.Bytes > d.f.src.size-p.Offset {
			return Extent{}, 0, false, d.f.errAt(p.Offset, "data of "+d.path, fault.ErrTruncated, "%d bytes, but the whole file has only %d", p.Bytes, d.f.src.size)
		}
	}
	return p, within * d.typ.Size(), true, nil
}

func (d *Dataset) storedChunk(index []int64) (p Extent, within int64, ok bool, err error) {
	l := &d.lay
	grid, edge := make([]int64, len(index)), false
	for i, x := range index {
		grid[i] = x / l.chunk[i]
		within = within*l.chunk[i] + x%l.chunk[i]
		edge = edge || (grid[i]+1)*l.chunk[i] > d.space.dims[i]
	}
	ref, ok, err := d.index.find(grid)
	if err != nil || !ok {
		return p, 0, false, err
	}
	at, err := d.chunkAt(ref)
	if err != nil {
		return p, 0, false, err
	}
	var names []string
	for i, x := range d.filters.steps {
		if d.maskOf(ref, edge)>>i&1 == 0 {
			names = append(names, filterNames[x.id])
		}
	}
	return Extent{Offset: at, Bytes: ref.size, Content: l.chunkBytes(), Codec: strings.Join(names, "+")}, within * l.elem, true, nil
}
