package recovery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
)

var bg = context.Background()

// TestOneHandlerTwoCauses (E1).
func TestOneHandlerTwoCauses(t *testing.T) {
	r := new(Registry)
	var seen []any
	r.On(Pred{"array": "phi", "kind": "data"}, 0, func(_ context.Context, e Event) error {
		seen = append(seen, e.Attr["source"], e.Box)
		return nil
	})
	for i, src := range []string{"store", "check"} {
		if err := r.Raise(bg, Event{Kind: "data", Array: "phi", Box: i, Attr: map[string]any{"source": src}}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(seen) != "[store 0 check 1]" {
		t.Errorf("%v", seen)
	}
}

// TestMostSpecific (E2): selection of the handler.
func TestMostSpecific(t *testing.T) {
	r := new(Registry)
	got := ""
	on := func(name string, prio int, p Pred) {
		r.On(p, prio, func(context.Context, Event) error { got = name; return nil })
	}
	deep := Pred{"kind": "data", "level": 3}
	on("any", 0, nil)
	on("data", 0, Pred{"kind": "data"})
	on("deep", 0, deep)
	on("deep, later", 0, deep)
	on("deep, first", 5, deep)
	on("urgent", 9, Pred{"kind": "data"})
	on("phi", 0, Pred{"kind": "data", "level": 3, "array": "phi"})
	on("io, urgent", 5, Pred{"kind": "io"})
	on("io", 0, Pred{"kind": "io"})
	on("io, later", 0, Pred{"kind": "io"})
	on("tie", 0, Pred{"kind": "tie"})
	on("tie, later", 0, Pred{"kind": "tie"})
	on("attribute", 0, Pred{"kind": "tie", "n": 2})
	for _, v := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: "loss"}, "any"},
		{Event{Kind: "data", Level: 1}, "urgent"}, // the priority counts only among handlers with equally many terms
		{Event{Kind: "data", Level: 3}, "deep, first"},
		{Event{Kind: "data", Level: 3, Array: "phi"}, "phi"},
		{Event{Kind: "data", Level: 3, Array: "psi"}, "deep, first"},
		{Event{Kind: "io"}, "io, urgent"}, // the order of registration counts only among handlers of one priority
		{Event{Kind: "tie"}, "tie, later"},
		{Event{Kind: "tie", Attr: map[string]any{"n": int64(2)}}, "attribute"},
	} {
		if err := r.Raise(bg, v.e); err != nil || got != v.want {
			t.Errorf("%+v: %q, %v, want %q", v.e, got, err, v.want)
		}
	}
	if err := new(Registry).Raise(bg, Event{Kind: "data"}); !errors.Is(err, ErrUnhandled) {
		t.Errorf("no handler: %v", err)
	}
	if err := r.Raise(bg, Event{Kind: "data", Attr: map[string]any{"x": []int{1}}}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a slice as attribute: %v", err)
	}
}

// TestGlobal (E3): a local event runs only on its rank. A global event runs on all ranks once, and all return together.
func TestGlobal(t *testing.T) {
	const n = 5
	var mu sync.Mutex
	runs := map[string][]int{}
	err := comm.Run(bg, n, nil, func(ctx context.Context, c comm.Comm) error {
		r := new(Registry)
		r.On(nil, 0, func(_ context.Context, e Event) error {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprint(e.Kind, e.Ranks, e.Attr["nan"], e.Attr["big"])
			runs[key] = append(runs[key], c.Rank())
			return nil
		})
		if c.Rank() == 2 {
			if err := r.Raise(ctx, Event{Kind: "local", Ranks: []int{2}}); err != nil {
				return err
			}
		}
		var e *Event
		switch c.Rank() { // ranks 1 and 4 raise the same event, 3 another
		case 1, 4:
			e = &Event{Kind: "loss", Attr: map[string]any{"nan": math.NaN(), "big": int64(1<<53 + 1)}}
		case 3:
			e = &Event{Kind: "data"}
		}
		if err := r.RaiseGlobal(ctx, c, e); err != nil {
			return err
		}
		e = nil
		if c.Rank() == 2 {
			e = &Event{Kind: "data", Attr: map[string]any{"x": []int{1}}}
		}
		if err := r.RaiseGlobal(ctx, c, e); !errors.Is(err, fault.ErrUsage) {
			return fmt.Errorf("rank %d: invalid event on rank 2: %w", c.Rank(), err)
		}
		return r.RaiseGlobal(ctx, c, nil) // nothing to raise
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]int{"local[2] <nil> <nil>": {2}, "loss[1 4] NaN 9007199254740993": {0, 1, 2, 3, 4}, "data[3] <nil> <nil>": {0, 1, 2, 3, 4}}
	for k, ranks := range want {
		slices.Sort(runs[k])
		if !slices.Equal(runs[k], ranks) {
			t.Errorf("%s: ran on %v, want %v", k, runs[k], ranks)
		}
	}
	if len(runs) != len(want) {
		t.Errorf("%v", runs)
	}
}

// TestEscalation (E4): scopes are tried in order, each once.
func TestEscalation(t *testing.T) {
	r := new(Registry)
	var scopes []Scope
	r.On(nil, 0, func(_ context.Context, e Event) error {
		scopes = append(scopes, e.Scope)
		switch e.Scope {
		case Box:
			return errors.New("box is beyond repair")
		case Levels:
			panic("index out of range")
		}
		return nil
	})
	if err := r.Raise(bg, Event{Kind: "data"}); err != nil || !slices.Equal(scopes, []Scope{Box, Levels, Global}) {
		t.Errorf("%v, %v", scopes, err)
	}
	bad := errors.New("no")
	r = new(Registry)
	n := 0
	r.On(nil, 0, func(context.Context, Event) error { n++; return bad })
	if err := r.Raise(bg, Event{Kind: "data", Scope: Levels}); !errors.Is(err, ErrAborted) || !errors.Is(err, bad) || n != 3 {
		t.Errorf("%v after %d", err, n)
	}
}

// TestEscalationTogether (E4): if the handler of a global event fails on one rank, all ranks go to the next scope.
func TestEscalationTogether(t *testing.T) {
	scopes := make([][]Scope, 3)
	err := comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		r := new(Registry)
		if c.Rank() != 0 { // rank 0 has no handler for boxes
			r.On(Pred{"scope": "box"}, 0, func(context.Context, Event) error { return nil })
		}
		r.On(Pred{"scope": "levels"}, 0, func(_ context.Context, e Event) error {
			if c.Rank() == 1 {
				panic("on rank 1")
			}
			return nil
		})
		r.On(Pred{"scope": "global"}, 0, func(_ context.Context, e Event) error {
			scopes[c.Rank()] = append(scopes[c.Rank()], e.Scope)
			return nil
		})
		return r.RaiseGlobal(ctx, c, &Event{Kind: "data"})
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, s := range scopes {
		if len(s) != 1 {
			t.Errorf("rank %d: %v", r, s)
		}
	}
	err = comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		if err := new(Registry).RaiseGlobal(ctx, c, &Event{Kind: "data"}); !errors.Is(err, ErrUnhandled) {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRaiseAgain: a handler that raises its own event again fails. It may raise other events, and its own in another scope.
func TestRaiseAgain(t *testing.T) {
	r := new(Registry)
	n := 0
	r.On(Pred{"array": "a"}, 0, func(ctx context.Context, e Event) error {
		if n++; n > 1000 {
			return nil
		}
		err := r.Raise(ctx, e)
		return err
	})
	if err := r.Raise(bg, Event{Kind: "data", Array: "a"}); !errors.Is(err, ErrAborted) || !errors.Is(err, errRecovering) || n > 100 {
		t.Errorf("%d calls, %v", n, err)
	}
	var seen []string
	r.On(Pred{"array": "b"}, 0, func(ctx context.Context, e Event) error {
		seen = append(seen, e.Kind+" "+e.Scope.String())
		if e.Kind == "data" && e.Scope == Box {
			err := r.Raise(ctx, Event{Kind: "data", Array: "b", Scope: Global})
			if err2 := r.Raise(ctx, Event{Kind: "metadata", Array: "b"}); err == nil {
				err = err2
			}
			return err
		}
		return nil
	})
	err := r.Raise(bg, Event{Kind: "data", Array: "b"})
	if want := []string{"data box", "data global", "metadata box"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%v, %v", err, seen)
	}
}
