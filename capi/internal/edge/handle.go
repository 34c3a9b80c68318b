package edge

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Table gives out words for values, that a caller in C holds as pointers which
// nothing ever follows. No word is given out twice, so that one which was
// dropped is never taken for another. It is safe for concurrent use; the zero value
// is ready.
type Table[T any] struct {
	mu   sync.RWMutex
	last uintptr
	vals map[uintptr]T
}

// step is odd and large: a word looks neither like a small number nor like one that
// the caller has counted up from another.
const step = 0x10009

// Add returns the word of a new value.
func (t *Table[T]) Add(v T) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.vals == nil {
		t.vals = map[uintptr]T{}
	}
	for {
		t.last += step
		if _, used := t.vals[t.last]; !used && t.last != 0 {
			break
		}
	}
	t.vals[t.last] = v
	return t.last
}

// Get returns the value of a word.
func (t *Table[T]) Get(h uintptr) (T, error) {
	t.mu.RLock()
	v, ok := t.vals[h]
	t.mu.RUnlock()
	if !ok {
		return v, fmt.Errorf("handle %#x: %w", h, ErrHandle)
	}
	return v, nil
}

// Take is Get, after which the word means nothing any more. Of several that take
// it at once, one gets the value.
func (t *Table[T]) Take(h uintptr) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.vals[h]
	if !ok {
		return v, fmt.Errorf("handle %#x: %w", h, ErrHandle)
	}
	delete(t.vals, h)
	return v, nil
}

// All returns the values whose words are in use.
func (t *Table[T]) All() []T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.vals))
}

// Len returns how many words are in use.
func (t *Table[T]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.vals)
}
