package edge

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Table assigns words to values. A caller in C holds the words as pointers, which are never dereferenced. Table does not
// reuse words, so a dropped word is never mistaken for another. Table is safe for concurrent use, and its zero value is
// ready to use.
type Table[T any] struct {
	mu   sync.RWMutex
	last uintptr
	vals map[uintptr]T
}

// step is odd and large, so that a word looks neither like a small number nor like the successor of another word.
const step = 0x10009

// Add returns the word for a new value.
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

// Get returns the value for a word.
func (t *Table[T]) Get(h uintptr) (T, error) {
	t.mu.RLock()
	v, ok := t.vals[h]
	t.mu.RUnlock()
	if !ok {
		return v, fmt.Errorf("handle %#x: %w", h, ErrHandle)
	}
	return v, nil
}

// Take returns the value for a word and removes the word. If several goroutines take a word at once, only one of them gets
// the value.
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

// Len returns the number of words in use.
func (t *Table[T]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.vals)
}
