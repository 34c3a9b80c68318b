package cache

import (
	"container/list"
	"sync"
)

// A Budget limits the open values of all pools that share it. The least recently used value of any pool is closed first. It is
// safe for concurrent use.
type Budget struct {
	max int

	mu   sync.Mutex // also guards the pools
	held int
	idle *list.List // idle values (idler), least recently used first
}

type idler interface {
	// evict removes the value from its pool. It returns a function that closes the value and passes the error to the pool. Budget.mu
	// is held.
	evict() func()
}

// NewBudget returns a budget of at most max values.
func NewBudget(max int) *Budget { return &Budget{max: max, idle: list.New()} }

// Max returns the maximum of open values.
func (b *Budget) Max() int { return b.max }

// Held returns the number of values that are open or being opened.
func (b *Budget) Held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Spare closes at most n idle values and reports whether there were any.
func (b *Budget) Spare(n int) bool {
	b.mu.Lock()
	var out []func()
	for len(out) < n && b.idle.Len() > 0 {
		out = append(out, b.oldest())
	}
	b.mu.Unlock()
	closeAll(out)
	return len(out) > 0
}

// oldest removes the least recently used value. b.mu is held.
func (b *Budget) oldest() func() { return b.idle.Front().Value.(idler).evict() }

// over removes idle values until at most max values are held, and returns the functions that close them. b.mu is held.
func (b *Budget) over() (out []func()) {
	for b.held > b.max && b.idle.Len() > 0 {
		out = append(out, b.oldest())
	}
	return out
}

func closeAll(list []func()) {
	for _, f := range list {
		f()
	}
}
