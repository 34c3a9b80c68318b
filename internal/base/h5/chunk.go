package h5

import (
	"blobio/internal/base/chunks"
	"blobio/internal/base/fault"
)

// readChunks reads a box of at least one element.
func (d *Dataset) readChunks(start, count []int64, dst []byte) error {
	l := &d.lay
	rank := len(start)
	first, n := make([]int64, rank), make([]int64, rank) // range of chunks that the box touches
	for i := range rank {
		first[i] = start[i] / l.chunk[i]
		n[i] = (start[i]+count[i]-1)/l.chunk[i] + 1 - first[i]
	}
	grid := make([]int64, rank)
	for at := make([]int64, rank); ; {
		for i := range grid {
			grid[i] = first[i] + at[i]
		}
		if err := d.readChunk(grid, start, count, dst); err != nil || !chunks.Next(at, n) {
			return err
		}
	}
}

// readChunk copies the part of the box that is in the chunk at grid.
func (d *Dataset) readChunk(grid, start, count []int64, dst []byte) error {
	l := &d.lay
	rank := len(grid)
	part := make([]int64, rank)   // size of that part
	inBox := make([]int64, rank)  // its start in the box
	inFile := make([]int64, rank) // and its start in the chunk
	edge := false
	for i, g := range grid {
		at := g * l.chunk[i]
		from, to := max(at, start[i]), min(at+l.chunk[i], start[i]+count[i])
		part[i], inBox[i], inFile[i] = to-from, from-start[i], from-at
		edge = edge || at+l.chunk[i] > d.space.dims[i]
	}
	ref, ok, err := d.index.find(grid)
	if err != nil {
		return err
	}
	w := l.elem
	if !ok {
		return runs(count, inBox, part, func(at, _, n int64) error {
			d.fillBytes(dst[at*w:(at+n)*w], 0)
			return nil
		})
	}
	b, err := d.chunkData(ref, edge)
	if err != nil {
		return err
	}
	row := part[rank-1] * w
	for idx := make([]int64, rank); ; { // for the first element of each row
		var to, from int64
		for i, x := range idx {
			to = to*count[i] + inBox[i] + x
			from = from*l.chunk[i] + inFile[i] + x
		}
		copy(dst[to*w:to*w+row], b[from*w:from*w+row])
		if !chunks.Next(idx[:rank-1], part) {
			return nil
		}
	}
}

// chunkAt returns the file offset of a stored chunk. It checks that the whole chunk is in the file.
func (d *Dataset) chunkAt(ref chunkRef) (int64, error) {
	f := d.f
	if want := d.lay.chunkBytes(); len(d.filters.steps) == 0 && ref.size != want {
		return 0, f.errAt(ref.off, "chunk size", fault.ErrCorrupt, "%d, want %d", ref.size, want)
	}
	at := f.base + ref.addr
	if ref.addr > f.src.size-f.base || ref.size > f.src.size-at {
		return 0, f.errAt(at, "chunk", fault.ErrTruncated, "%d bytes, but the whole file has only %d", ref.size, f.src.size)
	}
	if limit := int64(maxChunk + maxChunk/8); ref.size > limit { // filters may add some bytes
		return 0, f.errAt(ref.off, "chunk size", fault.ErrTooLarge, "%d, want at most %d", ref.size, limit)
	}
	return at, nil
}

// maskOf returns the mask of filters that the chunk skipped. edge means that the chunk extends beyond the array.
func (d *Dataset) maskOf(ref chunkRef, edge bool) uint32 {
	if edge && d.lay.flags&layoutRawEdges != 0 {
		return ^uint32(0)
	}
	return ref.mask
}

// chunkData reads a stored chunk and reverses its filters.
func (d *Dataset) chunkData(ref chunkRef, edge bool) ([]byte, error) {
	f := d.f
	at, err := d.chunkAt(ref)
	if err != nil {
		return nil, err
	}
	b := make([]byte, ref.size)
	if err := f.src.readFull(b, at); err != nil {
		return nil, &fault.FormatError{File: f.name, Offset: at, Field: "chunk", Msg: "read", Err: err}
	}
	if len(d.filters.steps) == 0 {
		return b, nil
	}
	return d.filters.undo(b, d.maskOf(ref, edge), d.lay.chunkBytes(), at)
}

// chunkIndex finds the stored chunks of a dataset.
type chunkIndex struct {
	f        *File
	lay      *layout
	space    *space
	filtered bool // stored chunks have their own sizes and filter masks
	// find returns the chunk at an index of the chunk grid. ok is false if the chunk was never written.
	find func(grid []int64) (c chunkRef, ok bool, err error)
}

type chunkRef struct {
	addr int64
	size int64  // stored size in bytes
	mask uint32 // skipped filters
	off  int64  // absolute offset of the entry, for errors
}

func newChunkIndex(d *Dataset) *chunkIndex {
	x := &chunkIndex{f: d.f, lay: &d.lay, space: &d.space, filtered: len(d.filters.steps) > 0}
	switch {
	case x.lay.addr == undef:
		x.find = func([]int64) (chunkRef, bool, error) { return chunkRef{}, false, nil }
	case x.lay.index == indexTree1:
		x.find = x.tree1Chunk
	case x.lay.index == indexSingle:
		x.find = x.singleChunk
	case x.lay.index == indexImplicit:
		x.find = x.implicitChunk
	case x.lay.index == indexFixed:
		x.find = x.fixedChunk
	case x.lay.index == indexExt:
		x.find = x.extChunk
	default:
		x.find = x.tree2Chunk
	}
	return x
}

// singleChunk is find for a dataset with one chunk.
func (x *chunkIndex) singleChunk(grid []int64) (chunkRef, bool, error) {
	l := x.lay
	ref := chunkRef{addr: l.addr, size: l.chunkBytes(), off: l.off}
	if l.flags&layoutFiltered != 0 {
		ref.size, ref.mask = l.single, l.mask
	}
	for _, g := range grid {
		if g != 0 {
			return ref, false, x.f.errAt(l.off, "chunk shape", fault.ErrCorrupt, "%v for a single chunk, want the shape %v", l.chunk, x.space.dims)
		}
	}
	return ref, true, nil
}

// implicitChunk is find for contiguous chunks that were allocated early, without filters.
func (x *chunkIndex) implicitChunk(grid []int64) (chunkRef, bool, error) {
	l := x.lay
	n, err := x.linear(grid, -1)
	size := l.chunkBytes()
	if err == nil && n > (1<<62)/size {
		err = x.f.errAt(l.off, "chunk index", fault.ErrCorrupt, "chunk %d lies beyond the largest file offset", n)
	}
	if err != nil {
		return chunkRef{}, false, err
	}
	return chunkRef{addr: l.addr + n*size, size: size, off: l.off}, true, nil
}

// linear returns the row-major number of a chunk in the grid of the maximum shape. A dimension without a limit comes first (first
// >= 0), because its length is not needed then.
func (x *chunkIndex) linear(grid []int64, first int) (int64, error) {
	var n int64
	if first >= 0 {
		n = grid[first]
	}
	for i, g := range grid {
		if i == first {
			continue
		}
		most := x.space.dims[i]
		if x.space.max != nil {
			most = x.space.max[i]
		}
		if most == Unlimited {
			return 0, x.f.errAt(x.lay.off, "chunk index", fault.ErrCorrupt, "dimension %d is unbounded", i)
		}
		chunks := (most-1)/x.lay.chunk[i] + 1
		if n > (1<<62)/max(chunks, 1) {
			return 0, x.f.errAt(x.lay.off, "chunk index", fault.ErrCorrupt, "the dataset has more than 2^62 chunks")
		}
		n = n*chunks + g
	}
	return n, nil
}

// tree1Chunk searches a version 1 B-tree whose keys are the first elements of the chunks.
func (x *chunkIndex) tree1Chunk(grid []int64) (chunkRef, bool, error) {
	f := x.f
	off := make([]int64, len(grid))
	for i, g := range grid {
		off[i] = g * x.lay.chunk[i]
	}
	addr, level := x.lay.addr, -1
	for {
		n, err := f.node1(addr, 1, level, chunkKey(len(grid)))
		if err != nil {
			return chunkRef{}, false, err
		}
		lo, hi := 0, n.used // the last child whose key is <= off is lo-1
		for lo < hi {
			mid := (lo + hi) / 2
			if comparePlace(n.key(mid).b[8:], off) <= 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo == 0 {
			return chunkRef{}, false, nil
		}
		if addr, err = n.child(lo - 1); err != nil {
			return chunkRef{}, false, err
		}
		if n.level > 0 {
			level = n.level - 1
			continue
		}
		k := n.key(lo - 1)
		if comparePlace(k.b[8:], off) != 0 {
			return chunkRef{}, false, nil
		}
		ref := chunkRef{addr: addr, off: k.off}
		ref.size, ref.mask = int64(k.u32("chunk size")), k.u32("chunk filter mask")
		return ref, true, nil
	}
}

// tree2Chunk searches a version 2 B-tree of chunks, sorted by grid index.
func (x *chunkIndex) tree2Chunk(grid []int64) (ref chunkRef, ok bool, err error) {
	f := x.f
	typ := uint8(10)
	if x.filtered {
		typ = 11
	}
	t, err := f.tree2(x.lay.addr, typ)
	if err != nil {
		return ref, false, err
	}
	entry, _ := x.entryLens()
	if t.rec != entry+8*len(grid) {
		return ref, false, f.errAt(t.off, "v2 B-tree record size", fault.ErrCorrupt, "%d, want %d", t.rec, entry+8*len(grid))
	}
	cmp := func(r record) int { return comparePlace(r.b[entry:], grid) }
	err = t.walk(cmp, func(r record) (bool, error) {
		ref, ok, err = x.entry(f.over(r.b, r.off))
		return false, err
	})
	return ref, ok, err
}
