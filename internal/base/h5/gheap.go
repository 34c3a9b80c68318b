package h5

import "blobio/internal/base/fault"

// vlenStrings reads n strings of variable length. Each element has a length, and the address and index of an object in the global
// heap.
func (a *Attr) vlenStrings(n int64) ([]string, error) {
	f := a.f
	c := f.over(a.raw, a.off)
	if n*int64(8+f.offSize) != int64(len(a.raw)) {
		return nil, f.errAt(a.off, "variable-length string", fault.ErrCorrupt, "%d bytes for %d elements, want %d bytes each", len(a.raw), n, 8+f.offSize)
	}
	out := make([]string, 0, n)
	for range n {
		at := c.pos()
		size := int64(c.u32("string length"))
		heap := c.addr("global heap address")
		index := c.u32("global heap index")
		if c.err != nil {
			return nil, c.err
		}
		if size == 0 || heap == undef {
			out = append(out, "")
			continue
		}
		b, err := f.globalObject(heap, index, at)
		if err != nil {
			return nil, err
		}
		if size > int64(len(b)) {
			return nil, f.errAt(at, "string length", fault.ErrCorrupt, "%d, want at most %d, the size of the object", size, len(b))
		}
		out = append(out, string(untilNul(b[:size])))
	}
	return out, nil
}

func (f *File) globalObject(addr int64, index uint32, off int64) ([]byte, error) {
	pre := int64(8 + f.lenSize)
	c := f.at(addr, pre, "global heap collection")
	c.magic("GCOL")
	c.version(1, "global heap version")
	c.skip(3, "global heap")
	n := c.length("global heap size")
	if c.err != nil {
		return nil, c.err
	}
	c = f.at(addr, n, "global heap collection")
	c.skip(pre, "global heap")
	for c.err == nil && c.left() >= 8+f.lenSize {
		i := uint32(c.u16("global heap object index"))
		c.skip(6, "global heap object")
		size := c.length("global heap object size")
		if i == 0 {
			break // the rest of the collection is free
		}
		b := c.take(size, "global heap object")
		if i == index && c.err == nil {
			return b, nil
		}
		c.skip(min((size+7)&^7-size, int64(c.left())), "global heap padding")
	}
	if c.err != nil {
		return nil, c.err
	}
	return nil, f.errAt(off, "global heap index", fault.ErrCorrupt, "object %d is not in the collection at %#x", index, addr)
}

// References returns the object references in each element of a value of variable length, as addresses like Object.Addr. A value
// of another type is ErrUsage. ErrCorrupt means that its bytes cannot be references.
func (a *Attr) References() ([][]int64, error) {
	if a.fail != nil {
		return nil, a.fail
	}
	f, n := a.f, a.Elems()
	if a.Type.Class() != ClassVlen || a.Type&typeVlenStr != 0 || n*int64(8+f.offSize) != int64(len(a.raw)) {
		return nil, fault.Class(fault.ErrUsage, "%s: attribute %q is of type %s, want lists of references", f.name, a.Name, a.Type)
	}
	c := f.over(a.raw, a.off)
	out := make([][]int64, n)
	for i := range out {
		at := c.pos()
		k := int64(c.u32("number of references"))
		heap, index := c.addr("global heap address"), c.u32("global heap index")
		if c.err != nil {
			return nil, c.err
		}
		if k == 0 || heap == undef {
			continue
		}
		b, err := f.globalObject(heap, index, at)
		if err != nil {
			return nil, err
		}
		if k*int64(f.offSize) > int64(len(b)) {
			return nil, f.errAt(at, "number of references", fault.ErrCorrupt, "%d references, but the object has only %d bytes", k, len(b))
		}
		r := f.over(b, at)
		for range k {
			out[i] = append(out[i], r.addr("object reference"))
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return out, nil
}
