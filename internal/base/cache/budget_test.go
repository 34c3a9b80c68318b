package cache

import (
	"errors"
	"testing"
)

// TestBudget: pools share a budget. The least recently used value is closed first, whichever pool has it. Its pool returns the
// error of the close.
func TestBudget(t *testing.T) {
	b := NewBudget(4)
	one, two := &opener{bad: 1}, &opener{bad: -1}
	p, q := NewPool[int](b, 10, one.close), NewPool[int](b, 3, two.close)
	use := func(p *Pool[int, *thing], o *opener, keys ...int) error {
		t.Helper()
		for _, k := range keys {
			if _, err := p.Get(k, o.of(k)); err != nil {
				return err
			}
			p.Put(k)
			if n := len(one.open) + len(two.open); n > 4 || n != b.Held() {
				t.Fatalf("%d open, counted are %d", n, b.Held())
			}
		}
		return nil
	}
	if err := errors.Join(use(p, one, 1, 2, 3, 4), use(p, one, 1), use(q, two, 5)); err != nil { // value 2 is closed
		t.Fatal(err)
	}
	if len(one.open) != 3 || len(two.open) != 1 {
		t.Errorf("%v and %v are open", one.open, two.open)
	}
	if err := use(q, two, 6, 7); err != nil { // values 3 and 4 are closed
		t.Fatal(err)
	}
	if err := use(q, two, 8, 9); err != nil { // the pool's own limit: 5 and 6 are closed
		t.Fatal(err)
	}
	if len(one.open) != 1 || len(two.open) != 3 {
		t.Errorf("%v and %v are open", one.open, two.open)
	}
	if !b.Spare(1) || len(one.open) != 0 {
		t.Error("the oldest is still open")
	}
	if err := use(p, one, 2); !errors.Is(err, errClose) {
		t.Errorf("that of closing is not told: %v", err)
	}
	if err := use(p, one, 2); err != nil {
		t.Error(err)
	}
	if _, err := q.Get(9, two.of(9)); err != nil {
		t.Fatal(err)
	}
	for b.Spare(1) {
	}
	if len(two.open) != 1 || len(one.open) != 0 {
		t.Errorf("%v and %v are open, want what is in use", one.open, two.open)
	}
	q.Put(9)
	if err := errors.Join(p.Close(), q.Close()); err != nil || b.Held() != 0 || len(two.open) != 0 {
		t.Errorf("%d are held: %v", b.Held(), err)
	}
}
