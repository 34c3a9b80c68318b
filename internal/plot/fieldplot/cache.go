package fieldplot

import (
	"container/list"
	"context"
	"sync"
)

// A cache keeps what is costly to make, the least recently used goes first. One goroutine makes a thing, others that want it wait.
type cache[V interface{ bytes() int64 }] struct {
	mu     sync.Mutex
	most   int64 // bytes
	used   int64
	there  map[string]*list.Element
	recent list.List // of *kept[V], the newest in front
	making map[string]chan struct{}
}

type kept[V any] struct {
	key   string
	value V
	bytes int64
}

func newCache[V interface{ bytes() int64 }](most int64) *cache[V] {
	return &cache[V]{most: most, there: map[string]*list.Element{}, making: map[string]chan struct{}{}}
}

// get is the thing of a key, made now if it is not there. What failed is not kept, and who waited for it tries it again.
func (c *cache[V]) get(ctx context.Context, key string, make func() (V, error)) (v V, err error) {
	for {
		c.mu.Lock()
		if e, ok := c.there[key]; ok {
			c.recent.MoveToFront(e)
			c.mu.Unlock()
			return e.Value.(*kept[V]).value, nil
		}
		wait, ok := c.making[key]
		if !ok {
			break
		}
		c.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
	done := newSignal()
	c.making[key] = done
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.making, key)
		close(done)
		c.mu.Unlock()
	}()
	if v, err = make(); err == nil {
		c.keep(key, v)
	}
	return v, err
}

func newSignal() chan struct{} { return make(chan struct{}) }

func (c *cache[V]) keep(key string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &kept[V]{key, v, v.bytes()}
	c.there[key] = c.recent.PushFront(k)
	for c.used += k.bytes; c.used > c.most && c.recent.Len() > 1; {
		last := c.recent.Back()
		old := c.recent.Remove(last).(*kept[V])
		delete(c.there, old.key)
		c.used -= old.bytes
	}
}
