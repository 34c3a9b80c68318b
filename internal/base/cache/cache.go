package cache

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// A Cache keeps values by their keys, as many as fit into its limit; the least recently used go first. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int64
	size  func(V) int64

	mu    sync.Mutex
	held  map[K]*entry[K, V] // made, or being made
	used  *list.List         // of *entry that are made, the latest first
	total int64              // sizes of these
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
	err   error
	ready chan struct{} // closed when value or err is set
	elem  *list.Element // nil: not made yet
}

// New returns a cache of values whose sizes, in bytes or whatever the limit is in, add up to limit at most. The one that was made last stays,
// however large it is.
func New[K comparable, V any](limit int64, size func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, size: size, held: map[K]*entry[K, V]{}, used: list.New()}
}

// Get returns the value of a key, if it is kept.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.held[key]
	if e == nil || e.elem == nil {
		return v, false
	}
	c.used.MoveToFront(e.elem)
	return e.value, true
}

// Make returns the value of a key, and makes it if it is not kept. A caller who wants what another is making waits for it, until ctx ends. An
// error is not kept; callers who waited make the value themselves, since it may have been the end of another's context.
func (c *Cache[K, V]) Make(ctx context.Context, key K, make func() (V, error)) (V, error) {
	for {
		e, mine := c.enter(key)
		if mine {
			c.make(e, make)
			return e.value, e.err
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
		if e.err == nil {
			return e.value, nil
		}
	}
}

// enter returns the entry of a key; mine says that it is new, and the caller makes it.
func (c *Cache[K, V]) enter(key K) (e *entry[K, V], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e = c.held[key]; e == nil {
		e = &entry[K, V]{key: key, ready: make(chan struct{})}
		c.held[key] = e
		return e, true
	}
	if e.elem != nil {
		c.used.MoveToFront(e.elem)
	}
	return e, false
}

// make makes a value. Nobody waits for ever for one whose maker panics.
func (c *Cache[K, V]) make(e *entry[K, V], f func() (V, error)) {
	e.err = errPanic
	defer c.made(e)
	e.value, e.err = f()
	if e.err == nil {
		e.size = c.size(e.value)
	}
}

// errPanic is seen by those who wait, and make the value themselves.
var errPanic = errors.New("the function that makes the value panicked")

// made keeps a value, and drops those that were not used for longest.
func (c *Cache[K, V]) made(e *entry[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(e.ready)
	if e.err != nil {
		delete(c.held, e.key)
		return
	}
	e.elem = c.used.PushFront(e)
	for c.total += e.size; c.total > c.limit && c.used.Len() > 1; {
		old := c.used.Remove(c.used.Back()).(*entry[K, V])
		delete(c.held, old.key)
		c.total -= old.size
	}
}
