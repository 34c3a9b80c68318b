package virtual

import (
	"container/list"
	"context"
	"sync"

	"blobio/internal/fault"
)

// unitKey names a unit: its first byte is lo of the variable's record.
type unitKey struct {
	v       int
	rec, lo int64
}

// cache keeps units that were read in part, the latest one however long it is. Who wants one that another is making waits for it.
type cache struct {
	limit int64

	mu    *sync.Mutex
	held  map[unitKey]*unit
	used  *list.List // of *unit that are made, the latest first
	bytes int64      // of them
}

type unit struct {
	key   unitKey
	data  []byte
	err   error
	ready chan struct{} // closed when data or err is set
	elem  *list.Element
}

func newCache(limit int64) cache {
	return cache{limit: limit, mu: new(sync.Mutex), held: map[unitKey]*unit{}, used: list.New()}
}

// copy copies a unit from byte skip of it on, if it is kept; otherwise 0.
func (c *cache) copy(k unitKey, p []byte, skip int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.held[k]
	if u == nil || u.elem == nil {
		return 0
	}
	c.used.MoveToFront(u.elem)
	return copy(p, u.data[skip:])
}

// get is copy; it makes the unit if it is not kept. One that could not be made is not kept.
func (c *cache) get(ctx context.Context, k unitKey, p []byte, skip int64, make func() ([]byte, error)) (int, error) {
	for {
		c.mu.Lock()
		u := c.held[k]
		mine := u == nil
		if mine {
			u = &unit{key: k, ready: newReady()}
			c.held[k] = u
		} else if u.elem != nil {
			c.used.MoveToFront(u.elem)
		}
		c.mu.Unlock()
		if mine {
			c.make(u, make)
		}
		select {
		case <-u.ready:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if u.err == nil {
			return copy(p, u.data[skip:]), nil
		}
		if mine || ctx.Err() != nil {
			return 0, u.err
		}
		// It may have been the end of another's context: try oneself.
	}
}

func newReady() chan struct{} { return make(chan struct{}) }

// make makes a unit. Nobody waits for ever for one whose maker panics.
func (c *cache) make(u *unit, f func() ([]byte, error)) {
	u.err = fault.ErrBroken
	defer c.made(u)
	u.data, u.err = f()
}

// made enters a unit, and drops those that were not used for longest.
func (c *cache) made(u *unit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(u.ready)
	if u.err != nil {
		delete(c.held, u.key)
		return
	}
	u.elem = c.used.PushFront(u)
	c.bytes += int64(len(u.data))
	for c.bytes > c.limit && c.used.Len() > 1 {
		e := c.used.Back()
		old := c.used.Remove(e).(*unit)
		delete(c.held, old.key)
		c.bytes -= int64(len(old.data))
	}
}
