package cache

import (
	"container/list"
	"errors"
)

// A Pool keeps open what is costly to open, files for example, up to a cap of its own and within a budget that it shares with other pools: the least
// recently used goes first, and is opened again when it is needed. Values in use may exceed both: cap and budget bound what is kept, not what is
// asked for at one instant. A Pool is safe for concurrent use.
type Pool[K comparable, V any] struct {
	budget *Budget
	max    int
	close  func(V) error

	// Budget.mu is of these, too.
	closed bool
	held   map[K]*pooled[K, V]
	idle   *list.List          // of *pooled that nobody uses, least recently used first
	late   []error             // of values that were closed for the sake of another pool
	away   map[K]chan struct{} // values that are being closed: they are not opened before that has ended
}

type pooled[K comparable, V any] struct {
	pool  *Pool[K, V]
	key   K
	value V
	err   error
	ready chan struct{} // closed when value or err is set
	uses  int
	elem  *list.Element // in Pool.idle, or nil
	all   *list.Element // in Budget.idle, or nil
}

// NewPool returns a pool of at most max values, which are closed by a function. Without a budget it has one of its own.
func NewPool[K comparable, V any](budget *Budget, max int, close func(V) error) *Pool[K, V] {
	if budget == nil {
		budget = NewBudget(max)
	}
	p := &Pool[K, V]{budget: budget, max: max, close: close, held: map[K]*pooled[K, V]{}, idle: list.New(), away: map[K]chan struct{}{}}
	return p
}

// Get returns the value of a key, opened if it is not held; Put must be called once for it. An error may come from closing another one of the pool.
func (p *Pool[K, V]) Get(key K, open func() (V, error)) (V, error) {
	b := p.budget
	b.mu.Lock()
	p.await(func(k K) bool { return k == key })
	e := p.held[key]
	if e != nil {
		e.uses++
		e.use()
		b.mu.Unlock()
		<-e.ready
	} else {
		e = &pooled[K, V]{pool: p, key: key, ready: make(chan struct{}), uses: 1}
		p.held[key] = e
		b.held++
		e.err = p.makeRoom()
		if e.err == nil {
			e.value, e.err = open()
		}
		close(e.ready)
	}
	if e.err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if p.held[key] == e {
			p.drop(e) // the next Get tries again
		}
	}
	return e.value, e.err
}

// Keep takes over an open value of a key that is not held. Nobody uses it yet.
func (p *Pool[K, V]) Keep(key K, v V) error {
	e := &pooled[K, V]{pool: p, key: key, value: v, ready: make(chan struct{})}
	close(e.ready)
	p.budget.mu.Lock()
	p.held[key] = e
	p.budget.held++
	e.rest()
	return p.makeRoom()
}

// Put gives back one use of a value.
func (p *Pool[K, V]) Put(key K) {
	p.budget.mu.Lock()
	e := p.held[key]
	e.uses--
	last := e.uses == 0 && p.closed
	if last {
		p.drop(e)
	} else if e.uses == 0 {
		e.rest()
	}
	p.budget.mu.Unlock()
	if last {
		_ = p.close(e.value) // after Close: the work that used it had failed or was given up
	}
}

// makeRoom closes values that nobody uses until the rest is within the cap and the budget. Budget.mu is held, and given back. The error is of values
// of this pool.
func (p *Pool[K, V]) makeRoom() error {
	var own []func() error
	for len(p.held) > p.max && p.idle.Len() > 0 {
		own = append(own, p.idle.Front().Value.(*pooled[K, V]).leave(false))
	}
	others := p.budget.over() // perhaps of this pool
	p.budget.mu.Unlock()
	err := closeOwn(own)
	closeAll(others)
	p.budget.mu.Lock()
	err = errors.Join(err, p.errors())
	p.budget.mu.Unlock()
	return err
}

// errors returns, once, the errors of closing values for the sake of other pools. Budget.mu is held.
func (p *Pool[K, V]) errors() error {
	err := errors.Join(p.late...)
	p.late = nil
	return err
}

// use and rest take a value from what nobody uses, and put it there. Budget.mu is held.
func (e *pooled[K, V]) use() {
	if e.elem != nil {
		e.pool.idle.Remove(e.elem)
		e.pool.budget.idle.Remove(e.all)
		e.elem, e.all = nil, nil
	}
}

func (e *pooled[K, V]) rest() {
	e.elem, e.all = e.pool.idle.PushBack(e), e.pool.budget.idle.PushBack(e)
}

// drop takes a value out. Budget.mu is held.
func (p *Pool[K, V]) drop(e *pooled[K, V]) {
	e.use()
	delete(p.held, e.key)
	p.budget.held--
}

// leave takes a value out, and returns what closes it; late keeps the error for the next call of the pool. Budget.mu is held.
func (e *pooled[K, V]) leave(late bool) func() error {
	p, gone := e.pool, make(chan struct{})
	p.drop(e)
	p.away[e.key] = gone
	return func() error {
		err := p.close(e.value)
		p.budget.mu.Lock()
		defer p.budget.mu.Unlock()
		if late && err != nil {
			p.late, err = append(p.late, err), nil
		}
		delete(p.away, e.key)
		close(gone)
		return err
	}
}

// evict implements idler.
func (e *pooled[K, V]) evict() func() {
	leave := e.leave(true)
	return func() { _ = leave() }
}

// await waits until none of some keys is being closed. Budget.mu is held, and given back meanwhile.
func (p *Pool[K, V]) await(which func(K) bool) {
	for again := true; again; {
		again = false
		for key, gone := range p.away {
			if which(key) {
				p.budget.mu.Unlock()
				<-gone
				p.budget.mu.Lock()
				again = true
				break
			}
		}
	}
}

func closeOwn(list []func() error) error {
	var errs []error
	for _, f := range list {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Forget closes the values of some keys, if nobody uses them.
func (p *Pool[K, V]) Forget(which func(K) bool) error {
	p.budget.mu.Lock()
	var out []func() error
	for key, e := range p.held {
		if e.elem != nil && which(key) {
			out = append(out, e.leave(false))
		}
	}
	p.budget.mu.Unlock()
	err := closeOwn(out)
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.await(which) // some are closed for the sake of others
	return errors.Join(err, p.errors())
}

// Close closes all values. One that is still in use is closed when it is given back.
func (p *Pool[K, V]) Close() error {
	p.budget.mu.Lock()
	p.closed = true
	p.budget.mu.Unlock()
	return p.Forget(func(K) bool { return true })
}
