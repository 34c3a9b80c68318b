package tree

import (
	"container/list"
	"errors"
	"fmt"
	"time"

	"blobio/blob"
	"blobio/internal/base/fault"
)

// shared is one open state of a dataset.
type shared struct {
	name, key string
	mod       time.Time
	form      *form // nil: a blob dataset

	ready  chan struct{} // closed when r, c and fact are set, or err
	r      *blob.Reader
	c      Bytes
	src    source // for a form: the source of r
	fact   fact
	err    error
	memory int64
	header int64 // counted memory of its header

	// guarded by Tree.mu:
	uses  int
	old   bool          // do not cache: another state is in force, or the open failed
	elem  *list.Element // in readers.free, or nil
	since time.Time     // time of the last release
}

// readers are all open states.
type readers struct {
	opt     Options
	by      map[string]*shared // by base name: the newest state
	held    int                // number of states in use
	free    *list.List         // *shared without uses, oldest first
	memory  budget
	headers headers
	timer   *time.Timer
	freed   chan struct{} // closed when the number in use decreases; nil: nobody waits
}

// budget is memory that readers share. Each reader gets half of the memory that is left, but at least the minimum.
type budget struct{ left, least int64 }

func (b *budget) take() int64 {
	n := max(b.left/2, b.least)
	b.left -= n
	return n
}

func (r *readers) init(o Options) {
	*r = readers{opt: o, by: map[string]*shared{}, free: list.New(), memory: budget{o.Memory, 4 << 20}, headers: newHeaders(o.Memory)}
}

// claim returns the reader of a state and counts a use. mine means that the reader is new and the caller must load it.
func (t *Tree) claim(name string, st state, most int) (s *shared, mine bool, err error) {
	var closing []*shared
	defer func() { _ = closeAll(closing) }() // opened for reading only
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.readers
	if t.closed {
		return nil, false, fault.Usage("%s: the tree is closed", name)
	}
	s = r.by[name]
	if s == nil || s.key != st.key {
		if r.held >= most {
			return nil, false, fmt.Errorf("%s: %d datasets are already open: %w", name, r.held, ErrTooMany)
		}
		if s != nil {
			s.old = true
			if s.uses == 0 {
				closing = append(closing, r.drop(s))
			}
		}
		if r.memory.left < r.opt.Memory/8 {
			closing = append(closing, r.idle(0)...)
		}
		s = &shared{name: name, key: st.key, mod: st.mod, form: st.form, ready: make(chan struct{}), memory: r.memory.take()}
		r.by[name], mine = s, true
	}
	if s.elem != nil {
		r.free.Remove(s.elem)
		s.elem = nil
	}
	if s.uses++; s.uses == 1 {
		r.held++
	}
	return s, mine, nil
}

// freed returns a channel that is closed when the number of held readers is below the limit, or decreases.
func (t *Tree) freed(most int) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.readers
	if r.held < most {
		now := make(chan struct{})
		close(now)
		return now
	}
	if r.freed == nil {
		r.freed = make(chan struct{})
	}
	return r.freed
}

// drop removes an unused reader; the caller closes it.
func (r *readers) drop(s *shared) *shared {
	if s.elem != nil {
		r.free.Remove(s.elem)
		s.elem = nil
	}
	if r.by[s.name] == s {
		delete(r.by, s.name)
	}
	r.memory.left += s.memory + s.header
	r.headers.used -= s.header
	return s
}

// idle removes unused readers, except for the newest readers.
func (r *readers) idle(keep int) (list []*shared) {
	for r.free.Len() > max(keep, 0) {
		list = append(list, r.drop(r.free.Front().Value.(*shared)))
	}
	return list
}

// release ends one use.
func (t *Tree) release(s *shared) {
	t.mu.Lock()
	r := &t.readers
	var closing []*shared
	if s.uses--; s.uses == 0 {
		r.held--
		if r.freed != nil {
			close(r.freed)
			r.freed = nil
		}
		if s.old || t.closed {
			closing = append(closing, r.drop(s))
		} else {
			s.since = time.Now()
			s.elem = r.free.PushBack(s)
			closing = r.idle(r.opt.MaxIdle)
			r.arm(t)
		}
	}
	t.mu.Unlock()
	_ = closeAll(closing) // opened for reading only
}

// forget ends the use of a state that could not be loaded. Waiting callers still have their uses.
func (t *Tree) forget(s *shared) {
	t.mu.Lock()
	s.old = true
	if t.readers.by[s.name] == s {
		delete(t.readers.by, s.name)
	}
	t.mu.Unlock()
	t.release(s)
}

// arm schedules the closing of unused readers. The caller holds Tree.mu.
func (r *readers) arm(t *Tree) {
	if r.timer == nil && r.free.Len() > 0 {
		r.timer = time.AfterFunc(time.Until(r.free.Front().Value.(*shared).since.Add(r.opt.Idle)), t.sweep)
	}
}

// sweep closes readers unused for Options.Idle.
func (t *Tree) sweep() {
	t.mu.Lock()
	r := &t.readers
	r.timer = nil
	var closing []*shared
	for e := r.free.Front(); e != nil && time.Since(e.Value.(*shared).since) >= r.opt.Idle; e = r.free.Front() {
		closing = append(closing, r.drop(e.Value.(*shared)))
	}
	r.arm(t)
	t.mu.Unlock()
	_ = closeAll(closing)
}

func closeAll(list []*shared) error {
	var errs []error
	for _, s := range list {
		if s.r != nil {
			if err := s.r.Close(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		if s.src != nil {
			if err := s.src.Close(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
	}
	return errors.Join(errs...)
}
