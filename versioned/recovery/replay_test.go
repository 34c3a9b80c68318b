package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/comm"
	"blobio/versioned"
)

// replay executes a run step by step, records the saves by counting, and finds the available versions when the error is found.
type replay struct {
	taken []versioned.Step // of all coarse steps
	begun []int            // by level: index in taken of its current step's beginning
	saved []bool           // by level: saved at that beginning
	count []int            // by level: steps begun in this coarse step; for level 0 in the run
	snaps [][]int          // coarse steps that began with a save of level 0: index in taken, and number
}

func (r *replay) step(s versioned.Subcycling, c versioned.Cadence, at Moment) (found bool) {
	n := len(r.begun)
	r.begun = append(r.begun, len(r.taken))
	own := c[n] > 0 && r.count[n]%c[n] == 0
	r.saved = append(r.saved, own)
	if n == 0 && own {
		r.snaps = append(r.snaps, []int{len(r.taken), r.count[0]})
	}
	now := versioned.Step{Level: n, Index: r.count[n]}
	if n == 0 {
		now.Index = 0
	}
	r.taken = append(r.taken, now)
	coarse := r.count[0] - int(b2i(n > 0))
	if r.count[n]++; now == at.Step && int64(coarse) == at.Coarse {
		return true
	}
	if n+1 < s.Levels {
		for range s.Ratio {
			if r.step(s, c, at) {
				return true
			}
		}
	}
	r.begun, r.saved = r.begun[:n], r.saved[:n]
	return false
}

// TestPlansOfReplays compares rule R with the replay for every error.
func TestPlansOfReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := versioned.Subcycling{Levels: rapid.IntRange(1, 4).Draw(t, "levels"), Ratio: rapid.IntRange(1, 3).Draw(t, "ratio")}
		p := &Planner{Subcycling: s, Cadence: rapid.SliceOfN(rapid.IntRange(0, 4), s.Levels, s.Levels).Draw(t, "cadence")}
		coarse := rapid.Int64Range(0, 5).Draw(t, "coarse")
		for at := range s.Order() {
			r := &replay{count: make([]int, s.Levels)}
			found := false
			for range coarse + 1 {
				clear(r.count[1:])
				found = r.step(s, p.Cadence, Moment{coarse, at})
			}
			if !found {
				t.Fatalf("%v was not taken", at)
			}
			m := at.Level
			for m >= 0 && !r.saved[m] {
				m--
			}
			want := Plan{Coarse: coarse, Scope: Levels}
			switch {
			case m >= 0:
				want.From, want.Redo = r.taken[r.begun[m]], r.taken[r.begun[m]:]
				if m == at.Level {
					want.Scope = Box
				} else if m == 0 {
					want.Scope = Global
				}
			case len(r.snaps) > 0:
				last := r.snaps[len(r.snaps)-1]
				want = Plan{Scope: Global, Coarse: int64(last[1]), Redo: r.taken[last[0]:]}
			default:
				want.Scope = Abort
			}
			got, err := p.Corruption(Moment{coarse, at})
			if want.Scope == Abort {
				if !errors.Is(err, ErrNoRecovery) || got.Scope != Abort {
					t.Fatalf("%+v, %v", got, err)
				}
				continue
			}
			if err != nil || got.Scope != want.Scope || got.Coarse != want.Coarse || got.From != want.From || !slices.Equal(got.Redo, want.Redo) {
				t.Fatalf("cadence %v, error in %v of coarse step %d: %+v, %v; want %+v", p.Cadence, at, coarse, got, err, want)
			}
		}
	})
}

// TestUnhandledBesideHandled (E3): an event without a handler does not keep another rank's event from its handler. All ranks get
// ErrUnhandled.
func TestUnhandledBesideHandled(t *testing.T) {
	err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		r := new(Registry)
		ran := 0
		r.On(Pred{"kind": "data"}, 0, func(context.Context, Event) error { ran++; return nil })
		var e *Event
		switch c.Rank() {
		case 0:
			e = &Event{Kind: "strange"}
		case 2:
			e = &Event{Kind: "data"}
		}
		if err := r.RaiseGlobal(ctx, c, e); !errors.Is(err, ErrUnhandled) || ran != 1 {
			return fmt.Errorf("rank %d: %v, handler ran %d times", c.Rank(), err, ran)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
