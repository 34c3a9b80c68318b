package record

import (
	"errors"
	"fmt"
	"math"

	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// Fields reads the values of a tree and keeps the first error. The value of a missing key is
// zero.
type Fields struct {
	Tree *kvtree.Tree
	File string // file name for errors; may be empty
	Path string // path of the tree for errors, for example "DSET/3"
	err  error
}

// Err returns the first error, or nil.
func (f *Fields) Err() error { return f.err }

// Fail records err as the error of a key, unless an earlier error is recorded.
func (f *Fields) Fail(key string, err error) {
	if f.err != nil {
		return
	}
	class := fault.ErrCorrupt
	for _, c := range []error{fault.ErrMissing, fault.ErrRange} {
		if errors.Is(err, c) {
			class = c
		}
	}
	field := key
	if f.Path != "" {
		field = f.Path + "/" + key
	}
	f.err = fault.In(f.File, field, class, "%v", err)
}

// Str returns a text.
func (f *Fields) Str(key string) string {
	if !f.Tree.Has(key) {
		return ""
	}
	v, err := f.Tree.Value(key).Str()
	if err != nil {
		f.Fail(key, err)
	}
	return v
}

// Int64 returns a number that must be at least lo. If the key is missing, it returns 0.
func (f *Fields) Int64(key string, lo int64) int64 {
	if !f.Tree.Has(key) {
		return 0
	}
	v, err := f.Tree.Value(key).Int64()
	if err == nil && v < lo {
		err = fmt.Errorf("%d, want at least %d", v, lo)
	}
	if err != nil {
		f.Fail(key, err)
		return 0
	}
	return v
}

// Int returns a number that must be from lo to 2^31-1. If the key is missing, it returns 0.
func (f *Fields) Int(key string, lo int) int {
	if !f.Tree.Has(key) {
		return 0
	}
	v, err := f.Tree.Value(key).Int64()
	if err == nil && (v < int64(lo) || v > math.MaxInt32) {
		err = fmt.Errorf("%d, want %d to %d", v, lo, math.MaxInt32)
	}
	if err != nil {
		f.Fail(key, err)
		return 0
	}
	return int(v)
}

// Uint32 returns a number from 0 to 2^32-1. If the key is missing, it returns 0.
func (f *Fields) Uint32(key string) uint32 {
	v := f.Int64(key, 0)
	if v > math.MaxUint32 {
		f.Fail(key, fmt.Errorf("%d, want at most %d", v, uint32(math.MaxUint32)))
		return 0
	}
	return uint32(v)
}

// Bool returns true for 1 and false for 0. If the key is missing, it returns false.
func (f *Fields) Bool(key string) bool {
	if !f.Tree.Has(key) {
		return false
	}
	v, err := f.Tree.Value(key).Int64()
	if err == nil && v != 0 && v != 1 {
		err = fmt.Errorf("%d, want 0 or 1", v)
	}
	if err != nil {
		f.Fail(key, err)
	}
	return v == 1
}

// CRC returns a CRC-32, and true if the key exists.
func (f *Fields) CRC(key string) (uint32, bool) {
	if !f.Tree.Has(key) {
		return 0, false
	}
	v, err := f.Tree.Value(key).CRC32()
	if err != nil {
		f.Fail(key, err)
		return 0, false
	}
	return v, true
}

// Extra returns a tree without its known keys. It returns nil if no other key is left.
func Extra(t *kvtree.Tree, known map[string]bool) *kvtree.Tree {
	var rest *kvtree.Tree
	for key, sub := range t.All() {
		if !known[key] {
			if rest == nil {
				rest = kvtree.New()
			}
			rest.Set(key, sub.Clone())
		}
	}
	return rest
}

// SetBool replaces the values of a key by 1 or 0.
func SetBool(t *kvtree.Tree, key string, v bool) {
	n := 0
	if v {
		n = 1
	}
	t.Value(key).SetInt(n)
}

func setText(t *kvtree.Tree, key, v string) {
	if v != "" {
		t.Value(key).SetStr(v)
	}
}
