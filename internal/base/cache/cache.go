package cache

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// A Cache keeps values by key up to a limit and drops the least recently used first. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int64
	size  func(V) int64

	mu    sync.Mutex
	held  map[K]*entry[K, V] // entries that are made or being made
	used  *list.List         // entries (*entry) that are made, the latest first
	total int64              // total size of these entries
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
	err   error
	ready chan struct{} // closed when value or err is set
	elem  *list.Element // nil: not yet made
}

// New returns a cache. The sizes of its values, in the unit of limit, add up to at most limit. The latest value always stays,
// even if it alone exceeds the limit.
func New[K comparable, V any](limit int64, size func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, size: size, held: map[K]*entry[K, V]{}, used: list.New()}
}

// Get returns the value of a key if the cache has it.
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

// Make returns the value of a key, and calls make if the cache lacks it. Concurrent callers of one key wait for the first, until
// ctx ends. Errors are not kept: waiting callers call make themselves, because the first caller's context may have ended.
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

// enter returns the entry of a key. mine means that the entry is new and the caller must make its value.
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

// make makes a value. If f panics, waiting callers get errPanic.
func (c *Cache[K, V]) make(e *entry[K, V], f func() (V, error)) {
	e.err = errPanic
	defer c.made(e)
	e.value, e.err = f()
	if e.err == nil {
		e.size = c.size(e.value)
	}
}

// errPanic makes waiting callers make the value themselves.
var errPanic = errors.New("the function that makes the value panicked")

// made adds a value and drops the least recently used values.
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
