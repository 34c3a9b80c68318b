package kvtree

import (
	"encoding/binary"
	"strings"
)

// unpacker reads a packed tree without recursion.
type unpacker struct {
	o     *Options
	b     []byte
	text  string // b as a string; keys are substrings of it
	at    int    // offset of the next field
	base  int64  // offset of b[0] in the file
	owed  int64  // number of elements that counts have announced but that are not read yet
	total int64  // number of elements that counts have announced so far
	dups  int
	moved int64 // number of elements that merges of duplicate keys have moved
	stack []frame
	trees []Tree // preallocated trees, so that many small nodes need only one allocation
	elems []elem
}

// frame is a node that is being read.
type frame struct {
	t     *Tree
	left  int   // number of elements that are still to be read; the next element has index left-1
	first *Tree // tree of an earlier element with the same key, to be merged into this node
}

// unpack reads the tree at the beginning of b. base is the offset of b in the file. It also returns the packed length n and the
// number dups of duplicate keys.
func unpack(b []byte, base int64, o *Options) (t *Tree, n, dups int, err error) {
	u := unpacker{o: o, b: b, text: string(b), base: base}
	t = &Tree{}
	if err := u.node(t, nil); err != nil {
		return nil, 0, 0, err
	}
	for len(u.stack) > 0 {
		top := &u.stack[len(u.stack)-1]
		if top.left == 0 {
			if top.t.dead > 0 {
				top.t.compact()
			}
			prepend(top.t, top.first)
			u.stack = u.stack[:len(u.stack)-1]
			continue
		}
		top.left--
		if err := u.element(top.t, top.left); err != nil {
			return nil, 0, 0, err
		}
	}
	return t, u.at, u.dups, nil
}

// node reads the count of a node and prepares it for its elements. All announced elements must fit in the rest of the input.
// Therefore the memory in use is proportional to the input. When the node is read, first is merged into it.
func (u *unpacker) node(t, first *Tree) error {
	left := int64(len(u.b) - u.at)
	off := u.base + int64(u.at)
	if left < countLen {
		return u.o.fault(off, "count", ErrCorrupt, "%d bytes left, want %d", left, countLen)
	}
	n := int64(binary.BigEndian.Uint32(u.b[u.at:]))
	u.at += countLen
	left -= countLen
	if n == 0 {
		if first != nil {
			*t = *first
		}
		return nil
	}
	u.owed += n
	u.total += n
	switch {
	case u.owed > left/minElem:
		return u.o.fault(off, "count", ErrCorrupt, "%d elements, so at least %d must follow, but only %d bytes are left", n, u.owed, left)
	case u.total > u.o.MaxElements:
		return u.o.fault(off, "count", ErrTooLarge, "%d elements in all, limit %d", u.total, u.o.MaxElements)
	case len(u.stack) >= u.o.MaxDepth:
		return u.o.fault(off, "count", ErrTooLarge, "more than %d levels", u.o.MaxDepth)
	}
	t.elems = u.takeElems(int(n), left)
	if n > narrow {
		t.index = make(map[string]int, n)
	}
	u.stack = append(u.stack, frame{t, int(n), first})
	return nil
}

// element reads one element of t. place is the index of its slot.
func (u *unpacker) element(t *Tree, place int) error {
	off := u.base + int64(u.at)
	end := strings.IndexByte(u.text[u.at:], 0)
	if end < 0 {
		return u.o.fault(off, "key", ErrCorrupt, "no NUL in the %d bytes left", len(u.b)-u.at)
	}
	key := u.text[u.at : u.at+end]
	u.at += end + 1
	u.owed--

	var first *Tree
	if i := t.find(key); i >= 0 {
		first = t.elems[i].sub
		t.elems[i] = elem{}
		t.dead++
		u.dups++
		u.moved += int64(first.Len())
		switch {
		case u.o.Strict:
			return u.o.fault(off, "key", ErrCorrupt, "%.80q twice in one node", key)
		case u.moved > u.o.MaxElements:
			return u.o.fault(off, "key", ErrTooLarge, "too many duplicate keys, such as %.80q", key)
		}
	}
	sub := u.takeTree()
	t.elems[place] = elem{key, sub}
	if t.index != nil {
		t.index[key] = place
	}
	return u.node(sub, first)
}

// piece is the number of trees or elements that are allocated at once.
const piece = 128

// takeTree returns a new tree from the preallocated ones.
func (u *unpacker) takeTree() *Tree {
	if len(u.trees) == 0 {
		u.trees = make([]Tree, min(piece, u.owed+1))
	}
	t := &u.trees[0]
	u.trees = u.trees[1:]
	return t
}

// takeElems returns a slice of n elements without spare capacity.
func (u *unpacker) takeElems(n int, left int64) []elem {
	if n > len(u.elems) {
		u.elems = make([]elem, max(int64(n), min(piece, left/minElem)))
	}
	e := u.elems[:n:n]
	u.elems = u.elems[n:]
	return e
}
