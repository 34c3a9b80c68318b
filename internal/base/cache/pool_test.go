package cache

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

type thing struct{ key int }

// opener counts open things; closing one of them fails.
type opener struct {
	mu   sync.Mutex
	open []int
	most int
	bad  int
}

var errClose = errors.New("close")

func (o *opener) of(key int) func() (*thing, error) {
	return func() (*thing, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if slices.Contains(o.open, key) {
			return nil, errors.New("open twice")
		}
		o.open = append(o.open, key)
		o.most = max(o.most, len(o.open))
		return &thing{key}, nil
	}
}

func (o *opener) close(t *thing) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = slices.DeleteFunc(o.open, func(k int) bool { return k == t.key })
	if t.key == o.bad {
		return errClose
	}
	return nil
}

// TestPool: the limit holds for idle values, and a value in use is not closed.
func TestPool(t *testing.T) {
	const users, most = 3, 4
	o := &opener{bad: -1}
	p := NewPool[int](nil, most, o.close)
	var all sync.WaitGroup
	for u := range users {
		all.Go(func() {
			for i := range 300 {
				key := (i*7 + u*3) % 20
				v, err := p.Get(key, o.of(key))
				if err != nil || v.key != key {
					t.Error(v, err)
					return
				}
				o.mu.Lock()
				if !slices.Contains(o.open, key) {
					t.Errorf("%d is closed while it is used", key)
				}
				o.mu.Unlock()
				p.Put(key)
			}
		})
	}
	all.Wait()
	if o.most > most+users {
		t.Errorf("%d were open at once", o.most)
	}
	if err := p.Close(); err != nil || len(o.open) > 0 {
		t.Error(err, o.open)
	}
}

// TestPoolEnds: Forget closes idle values, and Put closes a value after Close. Errors of closing are returned.
func TestPoolEnds(t *testing.T) {
	o := &opener{bad: 2}
	p := NewPool[int](nil, 2, o.close)
	get := func(key int) error { _, err := p.Get(key, o.of(key)); return err }
	if err := errors.Join(get(1), get(2), get(3)); err != nil {
		t.Fatal(err)
	}
	p.Put(2)
	if err := get(4); !errors.Is(err, errClose) || slices.Contains(o.open, 4) {
		t.Errorf("closing 2: %v, open %v", err, o.open)
	}
	if err := get(4); err != nil {
		t.Error(err)
	}
	p.Put(3)
	if err := p.Forget(func(k int) bool { return k != 1 }); err != nil || !slices.Equal(o.open, []int{1, 4}) {
		t.Errorf("%v, open %v", err, o.open)
	}
	v, _ := o.of(5)()
	if err := p.Keep(5, v); err != nil || !slices.Equal(o.open, []int{1, 4}) { // the limit leaves no room for the value
		t.Errorf("%v, open %v", err, o.open)
	}
	p.Put(4)
	if err := p.Close(); err != nil || !slices.Equal(o.open, []int{1}) {
		t.Errorf("%v, open %v", err, o.open)
	}
	if p.Put(1); len(o.open) > 0 {
		t.Errorf("open %v", o.open)
	}
}
