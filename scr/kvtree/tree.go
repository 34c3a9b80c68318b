package kvtree

import "iter"

// Tree is a node. It is a list of elements, and each element is a key and the tree below the key. A key is any string without a
// NUL byte, and may be empty. A node has each key at most once. A value is a key with an empty tree.
//
// The zero Tree is empty and ready for use. A nil *Tree reads as an empty tree, and writes to it do nothing. Concurrent reads are
// safe. A Tree must not become its own descendant. A Tree should be below only one key, because a change would be visible below
// all its keys.
type Tree struct {
	list
	null bool // the tree was set as nil, and is still empty
}

// New returns an empty tree.
func New() *Tree { return &Tree{} }

// Len returns the number of elements.
func (t *Tree) Len() int {
	if t == nil {
		return 0
	}
	return t.len()
}

// Get returns the tree below a key, or nil if the key does not exist.
func (t *Tree) Get(key string) *Tree {
	if t == nil {
		return nil
	}
	if i := t.find(key); i >= 0 {
		return t.elems[i].sub
	}
	return nil
}

// live is like Get, but returns nil for a tree that was set as nil, because SCR creates a new element in this case.
func (t *Tree) live(key string) *Tree {
	if sub := t.Get(key); sub != nil && !sub.null {
		return sub
	}
	return nil
}

// Has reports whether a key exists.
func (t *Tree) Has(key string) bool { return t != nil && t.find(key) >= 0 }

// Set makes sub the tree below a key and returns sub. It replaces an existing tree. The element becomes the head of the list. If
// sub is nil, Set makes a new empty tree, which is printed as NULL LIST until an element is set in it.
func (t *Tree) Set(key string, sub *Tree) *Tree {
	if t == nil {
		return nil
	}
	if sub == nil {
		sub = &Tree{null: true}
	}
	if i := t.find(key); i >= 0 {
		t.remove(i)
	}
	t.insert(key, sub)
	t.null = false
	return sub
}

// Extract removes a key and returns the tree that was below it, or nil if the key did not exist.
func (t *Tree) Extract(key string) *Tree {
	if t == nil {
		return nil
	}
	i := t.find(key)
	if i < 0 {
		return nil
	}
	sub := t.elems[i].sub
	t.remove(i)
	return sub
}

// Unset removes a key if it exists.
func (t *Tree) Unset(key string) { t.Extract(key) }

// UnsetAll removes all keys.
func (t *Tree) UnsetAll() {
	if t != nil {
		*t = Tree{}
	}
}

// All yields the elements in list order. The tree may be changed during the iteration. An element that is added may or may not be
// yielded. An element that is removed is not yielded, except perhaps after many removals.
func (t *Tree) All() iter.Seq2[string, *Tree] {
	return func(yield func(string, *Tree) bool) {
		if t == nil {
			return
		}
		elems := t.elems
		for i := len(elems) - 1; i >= 0; i-- {
			if e := elems[i]; e.sub != nil && !yield(e.key, e.sub) {
				return
			}
		}
	}
}

// Keys returns the keys in list order.
func (t *Tree) Keys() []string {
	keys := make([]string, 0, t.Len())
	for k := range t.All() {
		keys = append(keys, k)
	}
	return keys
}

// First returns the first element of the list. sub is nil if the tree is empty.
func (t *Tree) First() (key string, sub *Tree) {
	for k, s := range t.All() {
		return k, s
	}
	return "", nil
}
