package redset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"slices"
	"strings"
)

// Tree is a node of a key/value tree: the form in which SCR keeps all it knows. Keys are in the order in which they were set.
// The nil Tree is empty.
type Tree struct {
	keys  []string
	kids  []*Tree
	index map[string]int // of nodes with many keys
}

type tree = Tree

// Limits of what is read.
const (
	maxDepth  = 100 // of a header: 7 levels
	manyKeys  = 16
	leastElem = 5 // bytes of a packed element: an empty key, its end, a count
)

func newTree() *tree { return &tree{} }

// NewTree returns an empty tree.
func NewTree() *Tree { return newTree() }

// Len is the number of keys.
func (t *Tree) Len() int {
	if t == nil {
		return 0
	}
	return len(t.keys)
}

func (t *Tree) find(key string) int {
	if t == nil {
		return -1
	}
	if t.index == nil {
		return slices.Index(t.keys, key)
	}
	if i, ok := t.index[key]; ok {
		return i
	}
	return -1
}

// Get returns what is below a key, or nil.
func (t *Tree) Get(key string) *Tree {
	if i := t.find(key); i >= 0 {
		return t.kids[i]
	}
	return nil
}

// Set makes sub (nil: an empty tree) what is below a key, and returns it.
func (t *Tree) Set(key string, sub *Tree) *Tree {
	if sub == nil {
		sub = &Tree{}
	}
	if i := t.find(key); i >= 0 {
		t.kids[i] = sub
		return sub
	}
	t.keys, t.kids = append(t.keys, key), append(t.kids, sub)
	if t.index != nil {
		t.index[key] = len(t.keys) - 1
	} else if len(t.keys) > manyKeys {
		t.index = map[string]int{}
		for i, k := range t.keys {
			t.index[k] = i
		}
	}
	return sub
}

// All yields the keys and what is below them.
func (t *Tree) All() iter.Seq2[string, *Tree] {
	return func(yield func(string, *Tree) bool) {
		for i := range t.Len() {
			if !yield(t.keys[i], t.kids[i]) {
				return
			}
		}
	}
}

// pack appends the packed form, sorted by key at each level as redset does: count, then of each
// element the key, a zero byte, and the element; integers are big-endian.
func (t *Tree) pack(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(t.Len()))
	order := make([]int, t.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(t.keys[i], t.keys[j]) })
	for _, i := range order {
		b = append(append(b, t.keys[i]...), 0)
		b = t.kids[i].pack(b)
	}
	return b
}

// recordHead begins a record: magic, type 1 (tree), version 1, the size (8 bytes), flags 1 (has a CRC).
var recordHead = [20]byte{0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1, 19: 1}

// encodeTree makes the file record of a tree, sorted.
func encodeTree(t *tree) ([]byte, error) {
	b := t.pack(append([]byte(nil), recordHead[:]...))
	if len(b) > maxHeader-4 {
		return nil, formatErr("", -1, "record", "too many files for one header", ErrTooLarge)
	}
	binary.BigEndian.PutUint64(b[8:], uint64(len(b)+4))
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// decodeTree reads the record that b begins with, and returns its length.
func decodeTree(name string, b []byte) (*tree, int, error) {
	bad := func(off int, field, msg string, class error) (*tree, int, error) {
		return nil, 0, formatErr(name, int64(off), field, msg, class)
	}
	if len(b) < 28 {
		return bad(0, "record", "shorter than 28 bytes", ErrTruncated)
	}
	if !bytes.Equal(b[:8], recordHead[:8]) {
		return bad(0, "magic, type, version", "not those of a tree file", ErrCorrupt)
	}
	n := binary.BigEndian.Uint64(b[8:])
	if n < 28 || n > uint64(len(b)) {
		return bad(8, "file size", "does not fit the file", ErrTruncated)
	}
	b = b[:n]
	end := len(b)
	if binary.BigEndian.Uint32(b[16:])&1 != 0 {
		end -= 4
		if crc32.ChecksumIEEE(b[:end]) != recordSum(b) {
			return bad(end, "crc", "does not match", ErrCorrupt)
		}
	}
	t, _, err := unpack(name, b[:end], 20, 0)
	return t, len(b), err
}

func unpack(name string, b []byte, at, depth int) (*tree, int, error) {
	if len(b)-at < 4 || depth > maxDepth {
		return nil, 0, formatErr(name, int64(at), "count", "cut short, or too deep", ErrCorrupt)
	}
	n := binary.BigEndian.Uint32(b[at:])
	if at += 4; int64(n) > int64(len(b)-at)/leastElem {
		return nil, 0, formatErr(name, int64(at-4), "count", "more elements than bytes for them", ErrCorrupt)
	}
	t := &tree{}
	for range n {
		i := bytes.IndexByte(b[at:], 0)
		if i < 0 {
			return nil, 0, formatErr(name, int64(at), "key", "has no end", ErrCorrupt)
		}
		key := string(b[at : at+i])
		sub, next, err := unpack(name, b, at+i+1, depth+1)
		if err != nil {
			return nil, 0, err
		}
		if t.find(key) >= 0 {
			return nil, 0, formatErr(name, int64(at), "key", "twice", ErrCorrupt)
		}
		t.Set(key, sub)
		at = next
	}
	return t, at, nil
}
