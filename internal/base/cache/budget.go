package cache

import (
	"container/list"
	"sync"
)

// A Budget bounds what all pools that share it keep open together: the least recently used of any of them goes first. It is safe for
// concurrent use.
type Budget struct {
	max int

	mu   sync.Mutex // of the pools, too
	held int
	idle *list.List // of idler, least recently used first
}

// idler is something in a pool that nobody uses.
type idler interface {
	// evict takes it out of its pool, and returns a function that closes it and gives its pool the error. Budget.mu is held.
	evict() func()
}

// NewBudget returns a budget of at most max values.
func NewBudget(max int) *Budget { return &Budget{max: max, idle: list.New()} }

// Max is how many values the budget is for.
func (b *Budget) Max() int { return b.max }

// Held is how many values are open, or being opened.
func (b *Budget) Held() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Spare closes some values that nobody uses, at most n of them, and reports whether there were any.
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

// oldest takes out the value that was not used for longest. b.mu is held.
func (b *Budget) oldest() func() { return b.idle.Front().Value.(idler).evict() }

// over takes out values until the rest is within the budget. b.mu is held.
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
