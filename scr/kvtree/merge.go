package kvtree

// Merge adds the elements of src to t. If both have a key, the trees of this key are merged. Nothing is replaced or removed. src
// stays unchanged and shares nothing with t. New elements come before the elements of t, the last one first, as if Set was
// called for each in turn.
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

// prepend moves the elements of first to the front of t, in order. If both have a key, the trees of this key are merged in the
// same way. prepend handles duplicate keys in a file: first is the tree of the earlier element. Afterwards first must not be
// used.
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

// Clone returns a deep copy with elements in the same order. The clone of nil is empty.
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

// Equal reports whether both trees have the same keys at every level, in any order.
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
