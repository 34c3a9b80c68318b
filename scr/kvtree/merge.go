package kvtree

// Merge adds the elements of src: keys that are in both have their trees merged, nothing is replaced or removed.
// src stays as it is and shares nothing with t. The elements of src that are new are put before the elements of
// t, the last of them first, as by one Set after the other.
func (t *Tree) Merge(src *Tree) {
	if t == nil {
		return
	}
	for key, sub := range src.All() {
		own := t.live(key)
		if own == nil {
			own = t.Set(key, &Tree{})
		}
		own.Merge(sub)
	}
}

// prepend moves the elements of first to the front of t, in the order that they have there; trees of keys that are in both
// are joined in the same way. A file with a key given twice is read so: first is the tree of
// the earlier, which is used up.
func prepend(t, first *Tree) {
	if first == nil {
		return
	}
	for _, e := range first.elems {
		if e.sub == nil {
			continue
		}
		if own := t.Get(e.key); own != nil {
			prepend(own, e.sub)
		} else {
			t.insert(e.key, e.sub)
			t.null = false
		}
	}
}

// Clone returns a copy that shares nothing with t, with elements in the same order. The clone of nil is empty.
func (t *Tree) Clone() *Tree {
	if t == nil {
		return &Tree{}
	}
	c := &Tree{null: t.null}
	if n := t.Len(); n > 0 {
		c.elems = make([]elem, 0, n)
		for _, e := range t.elems {
			if e.sub != nil {
				c.elems = append(c.elems, elem{e.key, e.sub.Clone()})
			}
		}
		c.reindex()
	}
	return c
}

// Equal reports whether both hold the same keys, at every level, in any order.
func (t *Tree) Equal(u *Tree) bool {
	if t == u {
		return true
	}
	if t.Len() != u.Len() {
		return false
	}
	for key, sub := range t.All() {
		if other := u.Get(key); other == nil || !sub.Equal(other) {
			return false
		}
	}
	return true
}
