package ffformat

import (
	"cmp"
	"slices"
)

// Kinds of extents.
const (
	extentContent = "content"  // a chunk
	extentEmpty   = "empty"    // unused end of a container, which a variable uses when it grows again
	extentMeta    = "metadata" // file block, or block header with its records
	extentGap     = "gap"      // bytes that belong to no container or metadata
	extentParity  = "parity"   // parity bytes of a level 3 file
	extentOverlap = "overlap"  // bytes claimed twice: the file is damaged
	extentLost    = "lost"     // bytes after the end of the file: missing in a truncated file, or (layout B) the unwritten end of empty containers
)

// An Extent is a run of bytes of one kind in a file.
type Extent struct {
	Off, Len  int64  // bytes
	Kind      string // content, empty, metadata, gap, parity, overlap or lost
	ID        int32  // id of the variable; 0 unless the extent belongs to a container
	Block     int    // index in File.Blocks; -1 if the extent belongs to no block
	Container int    // index in the block; -1 if the extent belongs to no container
}

// End returns the offset of the first byte after the extent.
func (e Extent) End() int64 { return e.Off + e.Len }

// Extents returns the kind of every byte of the file, in ascending order and without holes. They reach from 0 to the end of
// the file or, if the file is truncated, to the end that the metadata give. Records with impossible (negative) offsets are
// left out. No extent is empty.
func (f *File) Extents() []Extent {
	var all []Extent
	end := f.Size
	add := func(off, n int64, e Extent) {
		if off < 0 || n <= 0 || off > maxOffset-n {
			return
		}
		e.Off, e.Len = off, n
		all = append(all, e)
		end = max(end, e.End())
	}
	none := Extent{Kind: extentMeta, Block: -1, Container: -1}
	fb := f.Layout.fbSize()
	switch {
	case f.Parity:
		add(0, f.Size-fb, Extent{Kind: extentParity, Block: -1, Container: -1})
		add(f.Size-fb, fb, none)
	case !f.Layout.atEnd():
		add(0, fb, none)
	}
	last := int64(0)
	for i := range f.Blocks {
		b := &f.Blocks[i]
		meta := f.Layout.blockMeta(len(b.Containers))
		add(b.Offset, meta, Extent{Kind: extentMeta, Block: i, Container: -1})
		last = b.Offset + meta
		for j := range b.Containers {
			c := &b.Containers[j]
			used := int64(0)
			if c.HasContent {
				used = min(c.ChunkSize, c.ContainerSize)
			}
			used = max(used, 0)
			add(c.Fptr, used, Extent{Kind: extentContent, ID: c.ID, Block: i, Container: j})
			add(c.Fptr+used, c.ContainerSize-used, Extent{Kind: extentEmpty, ID: c.ID, Block: i, Container: j})
		}
	}
	if !f.Parity && f.Layout.atEnd() {
		if len(f.Blocks) == 0 {
			last = f.FB.DataSize
		}
		add(last, fb, none)
	}
	return sweep(all, f.Size, end)
}

// maxOffset is the maximum offset. It is low enough that sums of offsets do not overflow.
const maxOffset = 1 << 62

// sweep cuts overlapping extents into separate extents from 0 to end. Bytes at and after size are lost.
func sweep(all []Extent, size, end int64) []Extent {
	slices.SortStableFunc(all, func(a, b Extent) int { return cmp.Compare(a.Off, b.Off) })
	var out []Extent
	put := func(e Extent) {
		if e.Len <= 0 {
			return
		}
		if e.Off < size && e.End() > size {
			tail := e
			tail.Off, tail.Len = size, e.End()-size
			tail.Kind = extentLost
			e.Len = size - e.Off
			out = append(out, e, tail)
			return
		}
		if e.Off >= size {
			e.Kind = extentLost
		}
		if n := len(out); n > 0 && out[n-1].End() == e.Off && out[n-1].Kind == e.Kind && (e.Kind == extentOverlap || e.Kind == extentGap) {
			out[n-1].Len += e.Len
			return
		}
		out = append(out, e)
	}
	at := int64(0)   // out covers all bytes before it
	var cur []Extent // extents that reach beyond at; there are few unless the file is damaged
	step := func(to int64) {
		for at < to {
			next := to
			for _, e := range cur {
				next = min(next, e.End())
			}
			e := Extent{Kind: extentGap, Block: -1, Container: -1}
			switch len(cur) {
			case 0:
			case 1:
				e = cur[0]
			default:
				e = Extent{Kind: extentOverlap, ID: cur[0].ID, Block: cur[0].Block, Container: cur[0].Container}
			}
			e.Off, e.Len = at, next-at
			put(e)
			at = next
			cur = slices.DeleteFunc(cur, func(e Extent) bool { return e.End() <= at })
		}
	}
	for _, e := range all {
		step(e.Off)
		if len(cur) < maxOverlap { // the limit keeps the work linear for a hostile file
			cur = append(cur, e)
		}
	}
	step(end)
	return out
}

// maxOverlap is the maximum number of overlapping extents kept at one offset.
const maxOverlap = 64
