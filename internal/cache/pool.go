package cache

import (
	"container/list"
	"errors"
	"sync"
)

// A Pool keeps open what is costly to open, files for example, up to a cap: the least recently used goes first, and is opened again when it is
// needed. What is in use may exceed the cap: it bounds what is kept, not what is asked for at one instant. It is safe for concurrent use.
type Pool[K comparable, V any] struct {
	max   int
	close func(V) error

	mu     sync.Mutex
	closed bool
	held   map[K]*pooled[K, V]
	idle   *list.List // of *pooled that nobody uses, least recently used first
}

type pooled[K comparable, V any] struct {
	key   K
	value V
	err   error
	ready chan struct{} // closed when value or err is set
	uses  int
	elem  *list.Element // in idle, or nil
}

// NewPool returns a pool of at most max values, which are closed by a function.
func NewPool[K comparable, V any](max int, close func(V) error) *Pool[K, V] {
	return &Pool[K, V]{max: max, close: close, held: map[K]*pooled[K, V]{}, idle: list.New()}
}

// Get returns the value of a key, opened if it is not held; Put must be called once for it. An error may be that of closing another one.
func (p *Pool[K, V]) Get(key K, open func() (V, error)) (V, error) {
	p.mu.Lock()
	e := p.held[key]
	if e != nil {
		e.uses++
		if e.elem != nil {
			p.idle.Remove(e.elem)
			e.elem = nil
		}
		p.mu.Unlock()
		<-e.ready
	} else {
		e = &pooled[K, V]{key: key, ready: make(chan struct{}), uses: 1}
		p.held[key] = e
		evicted := p.evict()
		p.mu.Unlock()
		if e.err = p.closeAll(evicted); e.err == nil {
			e.value, e.err = open()
		}
		close(e.ready)
	}
	if e.err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.held[key] == e {
			delete(p.held, key) // the next Get tries again
		}
	}
	return e.value, e.err
}

// Keep takes over an open value of a key that is not held. Nobody uses it yet.
func (p *Pool[K, V]) Keep(key K, v V) error {
	e := &pooled[K, V]{key: key, value: v, ready: make(chan struct{})}
	close(e.ready)
	p.mu.Lock()
	p.held[key] = e
	e.elem = p.idle.PushBack(e)
	evicted := p.evict()
	p.mu.Unlock()
	return p.closeAll(evicted)
}

// Put gives back one use of a value.
func (p *Pool[K, V]) Put(key K) {
	p.mu.Lock()
	e := p.held[key]
	e.uses--
	last := e.uses == 0 && p.closed
	if last {
		delete(p.held, key)
	} else if e.uses == 0 {
		e.elem = p.idle.PushBack(e)
	}
	p.mu.Unlock()
	if last {
		_ = p.close(e.value) // after Close: the work that used it had failed or was given up
	}
}

// evict takes out values that nobody uses until the rest is within the cap. p.mu is held.
func (p *Pool[K, V]) evict() (out []*pooled[K, V]) {
	for len(p.held) > p.max && p.idle.Len() > 0 {
		out = append(out, p.take(p.idle.Front().Value.(*pooled[K, V])))
	}
	return out
}

// take takes out one that nobody uses. p.mu is held.
func (p *Pool[K, V]) take(e *pooled[K, V]) *pooled[K, V] {
	p.idle.Remove(e.elem)
	e.elem = nil
	delete(p.held, e.key)
	return e
}

func (p *Pool[K, V]) closeAll(list []*pooled[K, V]) error {
	var errs []error
	for _, e := range list {
		errs = append(errs, p.close(e.value))
	}
	return errors.Join(errs...)
}

// Forget closes the values of some keys, if nobody uses them.
func (p *Pool[K, V]) Forget(which func(K) bool) error {
	p.mu.Lock()
	var out []*pooled[K, V]
	for key, e := range p.held {
		if e.elem != nil && which(key) {
			out = append(out, p.take(e))
		}
	}
	p.mu.Unlock()
	return p.closeAll(out)
}

// Close closes all values. One that is still in use is closed when it is given back.
func (p *Pool[K, V]) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	return p.Forget(func(K) bool { return true })
}
