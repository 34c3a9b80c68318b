package blob

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// TestSessionAgain: records that are held back are put again, in part and in any order, between commits that do not have them yet: what is committed
// at last is what was put last, and so are its checksums.
func TestSessionAgain(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		for seed := range int64(times(4, 100)) {
			t.Run(fmt.Sprintf("%s-%d", sc.name, seed), func(t *testing.T) {
				t.Parallel()
				const window, rounds = 2, 3
				m, mem := sc.model(window*rounds), vfs.NewMem()
				wrong := *m
				wrong.seed = otherSeed
				o := sc.with(mem, false)
				if o.Records > 0 {
					o.Records = m.records
				}
				guard := VarID(len(m.s.vars) - 1) // that nobody puts until the rest is right
				err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
					w, err := createWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), o)
					must(err)
					defer w.Abort()
					all, mine := rand.New(rand.NewSource(seed)), rand.New(rand.NewSource(seed*1000+int64(c.Rank())))
					some := func(m *model, first int64) error {
						for range mine.Intn(6) {
							v := VarID(mine.Intn(int(guard)))
							rec := first + mine.Int63n(window)
							if !m.s.vars[v].Record {
								if first > 0 {
									continue
								}
								rec = 0
							}
							if err := m.put(w, v, rec, c.Rank(), mine.Uint64(), nil); err != nil {
								return err
							}
						}
						return nil
					}
					for round := range int64(rounds) {
						first := round * window
						for range all.Intn(4) {
							do := []func(context.Context) error{w.Flush, w.FlushAsync, w.Commit, w.CommitAsync, w.Wait}[all.Intn(5)]
							if first == 0 { // the first commit has the fixed variables
								do = w.Flush
							}
							must(errors.Join(some(&wrong, first), notHeld(do(ctx))))
						}
						for _, k := range mine.Perm(window) {
							must(m.putRecord(w, first+int64(k), c.Rank(), first+int64(k) == 0))
						}
						if sc.async {
							err = errors.Join(notHeld(w.CommitAsync(ctx)), w.Wait(ctx))
						} else {
							err = w.Commit(ctx)
						}
						if err != nil || w.Committed() != first+window {
							return fmt.Errorf("%d committed, want %d: %w", w.Committed(), first+window, err)
						}
						must(c.Barrier(ctx))
						if c.Rank() == 0 {
							recordsSeen(t, mem, fmt.Sprint("round ", round), m)
						}
						must(c.Barrier(ctx))
					}
					return w.Close(ctx)
				})
				noError(t, err)
				if n := recordsSeen(t, mem, "closed", m); n != m.records {
					t.Errorf("%d records", n)
				}
			})
		}
	}
}

// lateSizes is a file system on which a process does not see yet how long others have made a subfile.
type lateSizes struct{ *vfs.Mem }

type lateSize struct{ vfs.File }

func (lateSize) Size() (int64, error) { return 0, nil }

func (l lateSizes) OpenRW(name string) (vfs.File, error) {
	f, err := l.Mem.OpenRW(name)
	if _, _, is := subfile.Split(name); is && err == nil {
		f = lateSize{f}
	}
	return f, err
}

// TestSessionLateSize: a commit cuts nothing off that other processes have written of later records.
func TestSessionLateSize(t *testing.T) {
	m, mem := tinyModelOf(1, 3, 3), vfs.NewMem()
	guard := VarID(len(m.s.vars) - 1)
	part := *m
	part.absent = map[rankRec]bool{}
	for rank := range m.ranks {
		part.absent[rankRec{guard, 1, rank}] = true
	}
	o := &settings{Options: Options{Subfiles: 1, OwnMin: 1}, knobs: knobs{fs: lateSizes{mem}}}
	err := run(m.ranks, func(ctx context.Context, in comm.Comm) error {
		c := comm.Isolate(in)
		w, err := createWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o)
		must(err)
		defer w.Abort()
		for rec := range m.records {
			must(part.putRecord(w, rec, c.Rank(), rec == 0))
			err := w.Commit(ctx)
			if held := new(HeldBackError); rec > 0 && errors.As(err, &held) && held.Var == m.s.vars[guard].Name && held.Put == rec+1 {
				err = nil
			} else if rec > 0 && err == nil {
				err = errors.New("nothing said of a record that is held back")
			}
			if err != nil || w.Committed() != 1 {
				return fmt.Errorf("%d committed, want 1: %w", w.Committed(), err)
			}
		}
		if err := errors.Join(m.put(w, guard, 1, c.Rank(), 1, nil), w.Commit(ctx)); err != nil || w.Committed() != 3 {
			return fmt.Errorf("%d committed, want 3: %w", w.Committed(), err)
		}
		return w.Close(ctx)
	})
	noError(t, err)
	if n := recordsSeen(t, mem, "closed", m); n != m.records {
		t.Errorf("%d records", n)
	}
}
