package recovery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"blobio/comm"
)

var bg = context.Background()

// E1: one handler for two causes.
func TestOneHandlerTwoCauses(t *testing.T) {
	r := NewRegistry()
	var seen []any
	r.On("phi", Pred{Is("kind", "data")}, 0, func(_ context.Context, e Event) error {
		seen = append(seen, e.Attr["source"], e.Box)
		return nil
	})
	for i, src := range []string{"store", "check"} {
		if _, err := r.Raise(bg, Event{Kind: "data", Array: "phi", Box: i, Attr: map[string]any{"source": src}}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(seen) != "[store 0 check 1]" {
		t.Errorf("%v", seen)
	}
}

// E2: which handler.
func TestMostSpecific(t *testing.T) {
	r := NewRegistry()
	got := ""
	on := func(name, array string, prio int, p ...Term) {
		r.On(array, p, prio, func(context.Context, Event) error { got = name; return nil })
	}
	deep := Term{"level", func(v any) bool { return v.(int64) >= 2 }}
	on("any", "", 0)
	on("data", "", 0, Is("kind", "data"))
	on("deep", "", 0, Is("kind", "data"), deep)
	on("deep, later", "", 0, Is("kind", "data"), deep)
	on("deep, first", "", 5, Is("kind", "data"), deep)
	on("urgent", "", 9, Is("kind", "data"))
	on("phi", "phi", 0)
	on("io, urgent", "", 5, Is("kind", "io"))
	on("io", "", 0, Is("kind", "io"))
	on("io, later", "", 0, Is("kind", "io"))
	on("tie", "", 0, Is("kind", "tie"))
	on("tie, later", "", 0, Is("kind", "tie"))
	for _, v := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: "loss"}, "any"},
		{Event{Kind: "data", Level: 1}, "urgent"}, // the priority counts among those with as many terms only
		{Event{Kind: "data", Level: 3}, "deep, first"},
		{Event{Kind: "data", Level: 3, Array: "phi"}, "phi"}, // its array beats any number of terms
		{Event{Kind: "data", Level: 3, Array: "psi"}, "deep, first"},
		{Event{Kind: "io"}, "io, urgent"}, // the order of registration counts among those of one priority only
		{Event{Kind: "tie"}, "tie, later"},
	} {
		if _, err := r.Raise(bg, v.e); err != nil || got != v.want {
			t.Errorf("%+v: %q, %v, want %q", v.e, got, err, v.want)
		}
	}
	if _, err := NewRegistry().Raise(bg, Event{Kind: "data"}); !errors.Is(err, ErrUnhandled) {
		t.Errorf("no handler: %v", err)
	}
	if _, err := r.Raise(bg, Event{Kind: "data", Attr: map[string]any{"x": []int{1}}}); !errors.Is(err, ErrUsage) {
		t.Errorf("a slice as attribute: %v", err)
	}
}

// E3: a local event runs on its rank alone, a global one on all, once, and all leave together.
func TestGlobal(t *testing.T) {
	const n = 5
	var mu sync.Mutex
	runs := map[string][]int{}
	err := comm.Run(bg, n, nil, func(ctx context.Context, c comm.Comm) error {
		r := NewRegistry()
		r.On("", nil, 0, func(_ context.Context, e Event) error {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprint(e.Kind, e.Ranks, e.Attr["nan"], e.Attr["big"])
			runs[key] = append(runs[key], c.Rank())
			return nil
		})
		if c.Rank() == 2 {
			if _, err := r.Raise(ctx, Event{Kind: "local", Ranks: []int{2}}); err != nil {
				return err
			}
		}
		var e *Event
		switch c.Rank() { // ranks 1 and 4 raise the same one, 3 another
		case 1, 4:
			e = &Event{Kind: "loss", Attr: map[string]any{"nan": math.NaN(), "big": int64(1<<53 + 1)}}
		case 3:
			e = &Event{Kind: "data"}
		}
		out, err := r.RaiseGlobal(ctx, c, e)
		if err != nil || len(out) != 2 || out[0].Event.Kind != "loss" || out[1].Event.Kind != "data" {
			return fmt.Errorf("%+v, %v", out, err)
		}
		out, err = r.RaiseGlobal(ctx, c, nil)
		if err != nil || len(out) != 0 {
			return fmt.Errorf("nothing to raise: %+v, %v", out, err)
		}
		return nil
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

// E4: scopes are tried one after the other, each once.
func TestEscalation(t *testing.T) {
	r := NewRegistry()
	var scopes []Scope
	r.On("", nil, 0, func(_ context.Context, e Event) error {
		scopes = append(scopes, e.Scope)
		switch e.Scope {
		case Box:
			return errors.New("box is beyond repair")
		case Levels:
			panic("index out of range")
		}
		return nil
	})
	out, err := r.Raise(bg, Event{Kind: "data"})
	if err != nil || out.Scope != Global || len(out.Tried) != 2 || !slices.Equal(scopes, []Scope{Box, Levels, Global}) {
		t.Errorf("%+v, %v, %v", out, scopes, err)
	}
	var pe *comm.PanicError
	if !errors.As(out.Tried[1], &pe) {
		t.Errorf("%v", out.Tried[1])
	}
	bad := errors.New("no")
	r = NewRegistry()
	n := 0
	r.On("", nil, 0, func(context.Context, Event) error { n++; return bad })
	if _, err := r.Raise(bg, Event{Kind: "data", Scope: Levels}); !errors.Is(err, ErrAborted) || !errors.Is(err, bad) || n != 3 {
		t.Errorf("%v after %d", err, n)
	}
}

// E4 for a global event: a handler that fails on one rank takes all to the next scope.
func TestEscalationTogether(t *testing.T) {
	scopes := make([][]Scope, 3)
	err := comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		r := NewRegistry()
		if c.Rank() != 0 { // rank 0 has no handler of boxes
			r.On("", Pred{Is("scope", "box")}, 0, func(context.Context, Event) error { return nil })
		}
		r.On("", Pred{Is("scope", "levels")}, 0, func(_ context.Context, e Event) error {
			if c.Rank() == 1 {
				panic("on rank 1")
			}
			return nil
		})
		r.On("", Pred{Is("scope", "global")}, 0, func(_ context.Context, e Event) error {
			scopes[c.Rank()] = append(scopes[c.Rank()], e.Scope)
			return nil
		})
		out, err := r.RaiseGlobal(ctx, c, &Event{Kind: "data"})
		if err != nil || len(out) != 1 || out[0].Scope != Global || len(out[0].Tried) != 2 {
			return fmt.Errorf("%+v, %v", out, err)
		}
		return nil
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
		if _, err := NewRegistry().RaiseGlobal(ctx, c, &Event{Kind: "data"}); !errors.Is(err, ErrUnhandled) {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// E5: checks.
func TestCheckAll(t *testing.T) {
	r := NewRegistry()
	order := ""
	add := func(name string, prio int, e *Event) {
		r.AddCheck(name, prio, func(context.Context) *Event { order += name; return e })
	}
	add("c", 1, nil)
	add("a", 9, nil)
	add("b", 5, &Event{Kind: "data"})
	got := ""
	r.On("", nil, 0, func(_ context.Context, e Event) error { got, _ = e.Attr["check"].(string); return nil })
	if _, found, err := r.CheckAll(bg); !found || err != nil || order != "ab" || got != "b" {
		t.Errorf("%v %v %q %q", found, err, order, got)
	}
	if _, found, err := NewRegistry().CheckAll(bg); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

// E6: accesses during a recovery, and after it.
func TestResume(t *testing.T) { synctest.Test(t, testResume) }

func testResume(t *testing.T) {
	r := NewRegistry()
	started, goOn := make(chan bool), make(chan bool)
	r.On("phi", nil, 0, func(ctx context.Context, e Event) error {
		close(started)
		<-goOn
		return r.Enter(ctx, "phi") // the handler's own access
	})
	done := make(chan error)
	go func() { _, err := r.Raise(bg, Event{Kind: "data", Array: "phi"}); done <- err }()
	<-started
	if err := r.Enter(bg, "phi"); !errors.Is(err, ErrRecovering) {
		t.Errorf("during: %v", err)
	}
	if err := r.Enter(bg, "psi"); err != nil {
		t.Errorf("another array: %v", err)
	}
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	if err := r.Wait(ctx, "phi"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}
	cancel()
	waited := make(chan error)
	go func() { waited <- r.Wait(bg, "phi") }()
	synctest.Wait()
	select {
	case err := <-waited:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := r.Enter(bg, "phi"); err != nil {
		t.Errorf("after: %v", err)
	}
}

// While an event of all arrays is being handled, no array is accessed but by its handler.
func TestResumeAll(t *testing.T) {
	r := NewRegistry()
	r.On("", nil, 0, func(ctx context.Context, e Event) error {
		if err := r.Enter(bg, "psi"); !errors.Is(err, ErrRecovering) {
			t.Errorf("an access from outside: %v", err)
		}
		return r.Enter(ctx, "psi")
	})
	if _, err := r.Raise(bg, Event{Kind: "data"}); err != nil {
		t.Error(err)
	}
	if err := r.Enter(bg, "psi"); err != nil {
		t.Errorf("after: %v", err)
	}
}

// A handler that raises its own event again comes to an end: that is a failure of it. Others it may raise, and its own in another scope.
func TestRaiseAgain(t *testing.T) {
	r := NewRegistry()
	n := 0
	r.On("a", nil, 0, func(ctx context.Context, e Event) error {
		if n++; n > 1000 {
			return nil
		}
		_, err := r.Raise(ctx, e)
		return err
	})
	if _, err := r.Raise(bg, Event{Kind: "data", Array: "a"}); !errors.Is(err, ErrAborted) || !errors.Is(err, ErrRecovering) || n > 100 {
		t.Errorf("%d calls, %v", n, err)
	}
	var seen []string
	r.On("b", nil, 0, func(ctx context.Context, e Event) error {
		seen = append(seen, e.Kind+" "+e.Scope.String())
		if e.Kind == "data" && e.Scope == Box {
			_, err := r.Raise(ctx, Event{Kind: "data", Array: "b", Scope: Global})
			if _, err2 := r.Raise(ctx, Event{Kind: "metadata", Array: "b"}); err == nil {
				err = err2
			}
			return err
		}
		return nil
	})
	out, err := r.Raise(bg, Event{Kind: "data", Array: "b"})
	if want := []string{"data box", "data global", "metadata box"}; err != nil || out.Scope != Box || !slices.Equal(seen, want) {
		t.Errorf("%v, %v, %v", out, err, seen)
	}
}

// Panics of predicates are failures of their scope, on all ranks; those of checks are errors.
func TestPanics(t *testing.T) {
	var pe *comm.PanicError
	err := comm.Run(bg, 3, nil, func(ctx context.Context, c comm.Comm) error {
		r := NewRegistry()
		r.On("", Pred{{"scope", func(v any) bool {
			if v == "box" && c.Rank() == 1 {
				panic("predicate")
			}
			return true
		}}}, 0, func(context.Context, Event) error { return nil })
		out, err := r.RaiseGlobal(ctx, c, &Event{Kind: "data"})
		if err != nil || len(out) != 1 || out[0].Scope != Levels || len(out[0].Tried) != 1 {
			return fmt.Errorf("%+v, %v", out, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	r := NewRegistry()
	r.AddCheck("sums", 0, func(context.Context) *Event { panic("index out of range") })
	if _, found, err := r.CheckAll(bg); found || !errors.As(err, &pe) || !strings.Contains(err.Error(), "sums") {
		t.Errorf("%v, %v", found, err)
	}
}
