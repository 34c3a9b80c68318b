package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// drawnSession is a random session. It makes some commits and ends with Close or Abort.
type drawnSession struct {
	to    int64 // number of records after Close
	steps []int // for each record: what the session does after its puts
	close bool
}

const (
	thenNothing = iota
	thenFlush
	thenFlushAsync
	thenCommit
	thenCommitAsync
	thenWait
	numThen
)

// TestSessionAny checks sessions with commits, for any dataset. After each commit a reader must find the state that the writer
// reports.
func TestSessionAny(t *testing.T) {
	checks(t, 2500)
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 0)
		if m.records == 0 || m.ranks > 16 {
			t.Skip()
		}
		p := drawPlan(t, m, false)
		p.o.FillIncomplete = rapid.Bool().Draw(t, "incomplete")
		var list []drawnSession
		for k, to := range p.cuts {
			s := drawnSession{to: to, close: k == len(p.cuts)-1 || rapid.Bool().Draw(t, "close")}
			for range m.records {
				s.steps = append(s.steps, rapid.IntRange(0, numThen-1).Draw(t, "then"))
			}
			list = append(list, s)
		}
		mem := vfs.NewMem()
		have := int64(-1) // number of committed records; negative: no dataset
		for k, s := range list {
			if s.to == 0 { // nobody would put the fixed variables
				continue
			}
			o := p.o
			if o.Fs = mem; p.fixed[k] && s.to > have {
				o.Records = s.to - max(have, 0)
			}
			have = s.write(t, m, p, &o, have)
		}
		readsAs(t, "read", mem, "d.nc", m)
		wantSound(t, "check", mem, "d.nc")
	})
}

// write runs the session and returns the number of committed records.
func (s drawnSession) write(t *rapid.T, m *model, p *writePlan, o *dataset.Settings, have int64) int64 {
	var committed atomic.Int64
	committed.Store(have)
	err := comm.Run(context.Background(), m.ranks, &p.co, func(ctx context.Context, c comm.Comm) error {
		c = isolateIf(c, p.isolate)
		var w *write.Writer
		var err error
		if have < 0 {
			w, err = write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o)
		} else {
			w, err = resume.AppendWith(ctx, c, "d.nc", m.parts(c.Rank()), o)
		}
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer w.Abort()
		for rec := w.Puts.Records(); rec < s.to; rec++ {
			must(m.putRecord(w, rec, c.Rank(), have < 0 && rec == 0))
			then := s.steps[rec]
			do := map[int]func(context.Context) error{thenFlush: w.Flush, thenFlushAsync: w.FlushAsync, thenCommit: w.Commit, thenCommitAsync: w.CommitAsync, thenWait: w.Wait}[then]
			if do == nil {
				continue
			}
			err := do(ctx)
			if held := new(write.HeldBackError); errors.As(err, &held) && held.Committed == w.Committed() && held.Put > held.Committed && !p.o.FillIncomplete {
				err = nil
			} else if err == nil && then == thenCommit && w.Committed() < w.Commits.Known {
				err = errors.New("nothing said of records that are held back")
			}
			if err != nil {
				return fmt.Errorf("step %d behind record %d: %w", then, rec, err)
			}
			if then != thenCommit {
				continue
			}
			if p.o.FillIncomplete && w.Committed() > rec+1 || w.Committed() < max(have, 0) {
				return fmt.Errorf("%d committed behind record %d", w.Committed(), rec)
			}
			must(c.Barrier(ctx))
			if c.Rank() == 0 && (w.Commits.Count > 0 || have >= 0) {
				got, gerr := canonicalOf(o.Fs, "d.nc")
				if want := m.upTo(w.Committed()).canonical(false); gerr != nil || !bytes.Equal(got, want) {
					err = fmt.Errorf("commit behind record %d, %d committed: %v, %s", rec, w.Committed(), gerr, firstDiff(got, want))
				}
			}
			must(comm.Agree(ctx, c, err))
		}
		if !s.close {
			must(notHeld(w.Wait(ctx)))
			if n := w.Committed(); w.Commits.Count > 0 || have >= 0 {
				committed.Store(n)
			}
			return errors.Join(c.Barrier(ctx))
		}
		committed.Store(s.to)
		return w.Close(ctx)
	})
	if err != nil {
		t.Fatalf("%+v %+v, from %d: %v", s, o.Options, have, err)
	}
	return committed.Load()
}
