package comm

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// peer has the unreceived messages of one sender, and the receivers that wait for its messages. All of them are stored with the
// sender, so that a sender that leaves the run can fail the receivers.
type peer struct {
	gone atomic.Bool // set under mu

	mu     sync.Mutex
	queues map[address]*queue // nil until needed
}

type address struct {
	g   *group
	to  int // world rank
	tag int
}

// queue holds either messages or waiting receivers, never both.
type queue struct {
	msgs  [][]byte
	waits []*wait
}

type wait struct {
	done   chan struct{}
	msg    []byte
	failed bool
}

func (p *peer) queue(a address) *queue {
	q := p.queues[a]
	if q == nil {
		if p.queues == nil {
			p.queues = map[address]*queue{}
		}
		q = &queue{}
		p.queues[a] = q
	}
	return q
}

func (p *peer) tidy(a address, q *queue) {
	if len(q.msgs) == 0 && len(q.waits) == 0 {
		delete(p.queues, a)
	}
}

// failAll makes the calls of all waiting receivers fail.
func (p *peer) failAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.queues {
		for _, wt := range q.waits {
			wt.failed = true
			close(wt.done)
		}
		q.waits = nil
	}
}

// leave marks the rank as gone. It returns the world rank of a receiver that waits for this rank, or -1.
func (p *peer) leave() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone.Store(true)
	for a, q := range p.queues {
		if len(q.waits) > 0 {
			return a.to
		}
	}
	return -1
}

// describe appends to s the receivers that wait for messages of this rank, up to most in total.
func (p *peer) describe(s []string, from, n, most int) ([]string, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, q := range p.queues {
		for range q.waits {
			if n++; n <= most {
				s = append(s, fmt.Sprintf("rank %d in Recv of rank %d, tag %d", a.to, from, a.tag))
			}
		}
	}
	return s, n
}

func (m *member) Send(ctx context.Context, to, tag int, b []byte) error {
	w := m.g.w
	if err := m.checkMessage(ctx, to, tag); err != nil {
		return err
	}
	dest := m.g.worldRank(to)
	if w.peers[dest].gone.Load() {
		return w.failErr(fmt.Errorf("%w: rank %d sent to rank %d", ErrExited, m.world, dest))
	}
	msg := append([]byte{}, b...)
	a := address{m.g, dest, tag}
	p := &w.peers[m.world]
	p.mu.Lock()
	q := p.queue(a)
	if len(q.waits) == 0 {
		q.msgs = append(q.msgs, msg)
		p.mu.Unlock()
		return nil
	}
	wt := q.waits[0]
	q.waits = q.waits[1:]
	p.tidy(a, q)
	w.wake(1)
	p.mu.Unlock()
	wt.msg = msg
	close(wt.done)
	return nil
}

func (m *member) Recv(ctx context.Context, from, tag int) ([]byte, error) {
	w := m.g.w
	if err := m.checkMessage(ctx, from, tag); err != nil {
		return nil, err
	}
	src := m.g.worldRank(from)
	a := address{m.g, m.world, tag}
	p := &w.peers[src]
	p.mu.Lock()
	q := p.queue(a)
	if len(q.msgs) > 0 {
		msg := q.msgs[0]
		q.msgs[0] = nil
		q.msgs = q.msgs[1:]
		p.tidy(a, q)
		p.mu.Unlock()
		return msg, nil
	}
	var err error
	if err = w.broken(); err == nil && p.gone.Load() {
		err = fmt.Errorf("%w: rank %d waits for a message of rank %d", ErrExited, m.world, src)
	}
	if err != nil {
		p.tidy(a, q)
		p.mu.Unlock()
		return nil, w.failErr(err)
	}
	wt := &wait{done: make(chan struct{})}
	q.waits = append(q.waits, wt)
	w.sleep()
	p.mu.Unlock()

	if d := ctx.Done(); d == nil || d == w.done {
		<-wt.done
	} else {
		select {
		case <-wt.done:
		case <-d:
			w.failCtx(m.world, ctx)
			<-wt.done
		}
	}
	if wt.failed {
		return nil, w.pendingErr(m.world)
	}
	return wt.msg, nil
}

func (m *member) checkMessage(ctx context.Context, peer, tag int) error {
	w := m.g.w
	if err := w.broken(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		w.failCtx(m.world, ctx)
		return w.pendingErr(m.world)
	}
	if err := m.checkRank("rank", peer); err != nil {
		return err
	}
	if tag < 0 {
		return m.usage("tag %d, want >= 0", tag)
	}
	return nil
}
