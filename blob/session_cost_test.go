package blob

import (
	"context"
	"errors"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// spent counts what is asked of a file system.
type spent struct {
	mu                      sync.Mutex
	ops, syncs, bytes, read int64
}

func (s *spent) take() (was [4]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = [4]int64{s.ops, s.syncs, s.bytes, s.read}
	s.ops, s.syncs, s.bytes, s.read = 0, 0, 0, 0
	return was
}

// TestSessionNotQuadratic: the last of 10,000 commits asks the file system for what the hundredth has, but for digits of numbers: the same operations, one
// sync of the data and one of the log.
func TestSessionNotQuadratic(t *testing.T) {
	grown := int64(times(600, 10_000))
	for _, tc := range []struct {
		name    string
		o       Options
		commits int64
		syncs   int64
	}{
		{"grow", Options{}, grown, 2},
		{"room", Options{Layout: ProcessCentric, Records: grown}, grown, 2},
		{"sets", Options{Layout: ProcessCentric}, grown / 4, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var cost spent
			mem := vfs.NewMem()
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				cost.mu.Lock()
				defer cost.mu.Unlock()
				cost.ops++
				switch op.Kind {
				case vfs.OpSync:
					cost.syncs++
				case vfs.OpWrite:
					cost.bytes += op.N
				case vfs.OpRead:
					cost.read += op.N
				}
				return nil
			})
			m := tinyModelOf(1, tc.commits, 1)
			var early, late [4]int64
			o := &settings{Options: tc.o, knobs: knobs{fs: fsys}}
			o.Workers = 1
			noError(t, run(1, func(ctx context.Context, c comm.Comm) error {
				w := need(createWith(ctx, c, "d.nc", m.s, m.parts(0), o))
				x := []float32{1, 2, 3, 4, 5, 6}
				for rec := range tc.commits {
					cost.take()
					err := errors.Join(Put(w, 1, rec, x), Put(w, 2, rec, x), Put(w, 3, rec, []float64{float64(rec)}), w.Commit(ctx))
					must(err)
					if now := cost.take(); rec == 99 {
						early = now
					} else {
						late = now
					}
				}
				return w.Close(ctx)
			}))
			if early[0] != late[0] || early[1] != tc.syncs || late[1] != tc.syncs || late[2] > early[2]+32 || late[3] > early[3]+32 {
				t.Errorf("operations, syncs, bytes written and read: %v, then %v", early, late)
			}
			r, err := openWith(context.Background(), "d.nc", nil, knobs{fs: mem})
			if err != nil || r.Records() != tc.commits {
				t.Fatal(err)
			}
			r.Close()
		})
	}
}
