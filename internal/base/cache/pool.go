package cache

import (
	"container/list"
	"errors"
)

// A Pool keeps values open that are costly to open, such as files. It has its own limit and a budget shared with other pools. The
// least recently used idle value is closed first and reopened when needed. Values in use may exceed both limits. A Pool is safe
// for concurrent use.
type Pool[K comparable, V any] struct {
	budget *Budget
	max    int
	close  func(V) error

	// Budget.mu guards the following fields, too.
	closed bool
	held   map[K]*pooled[K, V]
	idle   *list.List          // idle values (*pooled), least recently used first
	late   []error             // errors of values closed to make room for another pool
	away   map[K]chan struct{} // values being closed, which are reopened only after the close
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

// NewPool returns a pool of at most max values, closed by the function close. Without a budget, the pool makes its own.
func NewPool[K comparable, V any](budget *Budget, max int, close func(V) error) *Pool[K, V] {
	if budget == nil {
		budget = NewBudget(max)
	}
	p := &Pool[K, V]{budget: budget, max: max, close: close, held: map[K]*pooled[K, V]{}, idle: list.New(), away: map[K]chan struct{}{}}
	return p
}

// Get returns the value of a key and opens it if necessary. The caller must call Put once when it has finished with the value.
// The error may come from closing another value.
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
			p.drop(e) // the next Get retries
		}
	}
	return e.value, e.err
}

// Keep adds an open, idle value. The pool must not have the key yet.
func (p *Pool[K, V]) Keep(key K, v V) error {
	e := &pooled[K, V]{pool: p, key: key, value: v, ready: make(chan struct{})}
	close(e.ready)
	p.budget.mu.Lock()
	p.held[key] = e
	p.budget.held++
	e.rest()
	return p.makeRoom()
}

// Put ends one use of a value.
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
		_ = p.close(e.value) // after Close; the error is dropped, because the work that used the value failed or was cancelled
	}
}

// makeRoom closes idle values until neither the pool's limit nor the budget is exceeded. The caller holds Budget.mu, which
// makeRoom releases while it closes values. The error comes from values of this pool.
func (p *Pool[K, V]) makeRoom() error {
	var own []func() error
	for len(p.held) > p.max && p.idle.Len() > 0 {
		own = append(own, p.idle.Front().Value.(*pooled[K, V]).leave(false))
	}
	others := p.budget.over() // may include values of this pool
	p.budget.mu.Unlock()
	err := closeOwn(own)
	closeAll(others)
	p.budget.mu.Lock()
	err = errors.Join(err, p.errors())
	p.budget.mu.Unlock()
	return err
}

// errors returns the errors from closing values to make room for other pools. It returns each error only once. Budget.mu is held.
func (p *Pool[K, V]) errors() error {
	err := errors.Join(p.late...)
	p.late = nil
	return err
}

// use removes a value from the idle lists, and rest adds a value to these lists. Budget.mu is held.
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

// drop removes a value from the pool. Budget.mu is held.
func (p *Pool[K, V]) drop(e *pooled[K, V]) {
	e.use()
	delete(p.held, e.key)
	p.budget.held--
}

// leave removes a value and returns a function that closes it. With late, the pool's next call returns the error. Budget.mu is
// held.
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

// await waits until no selected key is being closed. The caller holds Budget.mu, which await releases while it waits.
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

// Forget closes the idle values of the selected keys.
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
	p.await(which) // other goroutines may be closing some of them
	return errors.Join(err, p.errors())
}

// Close closes all values. A value in use is closed by its last Put.
func (p *Pool[K, V]) Close() error {
	p.budget.mu.Lock()
	p.closed = true
	p.budget.mu.Unlock()
	return p.Forget(func(K) bool { return true })
}
