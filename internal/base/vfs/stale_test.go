package vfs

import (
	"errors"
	"io/fs"
	"testing"
)

// TestStaleOpen: a name whose file is stale is looked up again. Any other error is returned.
func TestStaleOpen(t *testing.T) {
	m := NewMem()
	if err := WriteFile(m, "f", []byte("later")); err != nil {
		t.Fatal(err)
	}
	for _, last := range []error{nil, fs.ErrNotExist} {
		stale := 2
		f, err := named(func(name string, _ int) (File, error) {
			if stale--; stale >= 0 {
				return nil, &fs.PathError{Op: "open", Path: name, Err: ErrStale}
			}
			if last != nil {
				return nil, last
			}
			return m.Open(name)
		}, "f", 0)
		if !errors.Is(err, last) || (f == nil) != (last != nil) || stale != -1 {
			t.Errorf("%v: %v, %v, %d", last, f, err, stale)
		}
	}
}
