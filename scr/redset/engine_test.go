package redset

import (
	"context"
	"slices"
	"sync"
	"testing"

	"blobio/comm"
)

// traffic counts the bytes that have been sent but not received.
type traffic struct {
	mu    sync.Mutex
	cond  *sync.Cond
	bytes int64
	most  int64
	waits bool // rank 0 is waiting for all ranks
}

// metered is a Comm of processes in which rank 1 receives only while rank 0 waits.
type metered struct {
	comm.Comm
	t *traffic
}

func (m metered) Apart() bool { return true }

func (m metered) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	c, err := m.Comm.Split(ctx, color, key)
	return metered{c, m.t}, err
}

func (m metered) Send(ctx context.Context, to, tag int, b []byte) error {
	m.t.mu.Lock()
	m.t.bytes += int64(len(b))
	m.t.most = max(m.t.most, m.t.bytes)
	m.t.mu.Unlock()
	return m.Comm.Send(ctx, to, tag, b)
}

func (m metered) Recv(ctx context.Context, from, tag int) ([]byte, error) {
	m.t.mu.Lock()
	for !m.t.waits {
		m.t.cond.Wait()
	}
	m.t.mu.Unlock()
	b, err := m.Comm.Recv(ctx, from, tag)
	m.t.mu.Lock()
	m.t.bytes -= int64(len(b))
	m.t.mu.Unlock()
	return b, err
}

// stand records whether rank 0 is waiting for all ranks.
func (m metered) stand(waits bool) {
	if m.Rank() == 0 {
		m.t.mu.Lock()
		m.t.waits = waits
		m.t.mu.Unlock()
		m.t.cond.Broadcast()
	}
}

func (m metered) Barrier(ctx context.Context) error {
	m.stand(true)
	defer m.stand(false)
	return m.Comm.Barrier(ctx)
}

func (m metered) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	m.stand(true)
	defer m.stand(false)
	return m.Comm.AllreduceInt64(ctx, v, op)
}

func (m metered) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	m.stand(true)
	defer m.stand(false)
	return m.Comm.Allgather(ctx, b)
}

// TestMessagesAreBounded checks that a rank that sends copies to a slower rank keeps only a few of them in memory. It tests
// one long file and many short files.
func TestMessagesAreBounded(t *testing.T) {
	for what, sizes := range map[string][]int{"one": {14 << 20}, "many": slices.Repeat([]int{messagePiece}, 56)} {
		cl := newCluster(t, Options{Scheme: Partner}, [][]int{sizes, {}})
		m := &traffic{}
		m.cond = sync.NewCond(&m.mu)
		err := cl.run("isolated", func(ctx context.Context, c comm.Comm) error {
			c = metered{c, m}
			s, err := New(ctx, c, cl.o)
			must(t, err)
			return s.Encode(ctx, cl.fs, cl.files[c.Rank()], []string{"n0/rs.", "n1/rs."}[c.Rank()])
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if most := int64((meetEvery + 2) * 2 * piecesAhead * messagePiece); m.most == 0 || m.most > most {
			t.Errorf("%s: %d bytes on their way, want at most %d", what, m.most, most)
		}
		want := fromMem(t, cl.fs, "n0")
		cl.lose(t, 0)
		if _, err := cl.recover("isolated", cl.own); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		same(t, fromMem(t, cl.fs, "n0"), want)
	}
}
