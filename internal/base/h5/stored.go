package h5

import (
	"blobio/internal/base/fault"
	"strings"
)

// An Extent is a chunk, or all data of a dataset without chunks, as the file has it.
type Extent struct {
	Offset  int64  // in the file, in bytes
	Bytes   int64  // in the file
	Content int64  // bytes that they stand for; of a chunk those beyond the array included
	Codec   string // filters that they went through, such as "shuffle+deflate"; "" if none
}

// Stored returns the extent that has the element at index, and the byte of its content where the element begins. ok is false
// of an element that was never written: it reads as the fill value.
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
			return Extent{}, 0, false, d.f.errAt(p.Offset, "data of "+d.path, fault.ErrTruncated, "%d bytes, the file has %d in all", p.Bytes, d.f.src.size)
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
	ref, ok, err := d.index(grid)
	if err != nil || !ok {
		return p, 0, false, err
	}
	at, err := d.chunkAt(ref)
	if err != nil {
		return p, 0, false, err
	}
	var names []string
	for i, x := range d.filters {
		if d.maskOf(ref, edge)>>i&1 == 0 {
			names = append(names, filterNames[x.id])
		}
	}
	return Extent{Offset: at, Bytes: ref.size, Content: l.chunkBytes(), Codec: strings.Join(names, "+")}, within * l.elem, true, nil
}
