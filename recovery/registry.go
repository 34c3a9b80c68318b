package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"blobio/comm"
)

// Handler recovers from an event. e.Scope is the scope that is being tried; an error or a
// panic, of its predicate too, moves on to the next one. ctx lets accesses of the handler pass Enter; with it the handler may raise
// other events, or the same one in another scope, but not its own again.
type Handler func(ctx context.Context, e Event) error

// Check looks for errors that nobody has noticed: nil, or the event to raise.
type Check func(ctx context.Context) *Event

// Registry brings events to handlers. It belongs to one rank; all its methods may be called by
// several goroutines. Make it by NewRegistry.
type Registry struct {
	mu       sync.Mutex
	handlers []handler
	checks   []check
	busy     map[string]int // arrays being recovered; "" stands for all
	resumed  chan struct{}  // closed when one of them is done
	seq      int
}

type handler struct {
	array    string
	pred     Pred
	priority int
	seq      int
	run      Handler
}

type check struct {
	name     string
	priority int
	seq      int
	run      Check
}

// NewRegistry returns a registry without handlers.
func NewRegistry() *Registry {
	return &Registry{busy: map[string]int{}, resumed: make(chan struct{})}
}

// On registers a handler for events about an array ("" for any) that meet the predicate. Of those that
// take an event, one for its array goes before one for any, then the one with
// more terms, then the higher priority, then the one registered later.
func (r *Registry) On(array string, p Pred, priority int, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	r.handlers = append(r.handlers, handler{array, slices.Clone(p), priority, r.seq, h})
}

// AddCheck registers a check. Higher priorities run first, equal ones as registered.
func (r *Registry) AddCheck(name string, priority int, f Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	r.checks = append(r.checks, check{name, priority, r.seq, f})
	slices.SortFunc(r.checks, func(a, b check) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.seq, b.seq))
	})
}

// find returns the handler that takes the event, in the scope that it has.
func (r *Registry) find(e *Event) (Handler, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *handler
	for i := range r.handlers {
		h := &r.handlers[i]
		if h.array != "" && h.array != e.Array {
			continue
		}
		takes, err := h.pred.try(e)
		if err != nil { // as if it were the handler's
			return func(context.Context, Event) error { return err }, true
		}
		if !takes {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(b2i(h.array != ""), b2i(best.array != "")), cmp.Compare(len(h.pred), len(best.pred)),
			cmp.Compare(h.priority, best.priority), cmp.Compare(h.seq, best.seq)) > 0 {
			best = h
		}
	}
	if best == nil {
		return nil, false
	}
	return best.run, true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Outcome says how an event ended.
type Outcome struct {
	Event Event
	Scope Scope   // in which it was handled
	Tried []error // what the handlers of smaller scopes said
}

// Raise handles a local event: only the handlers of this rank run. Scopes are tried
// from e.Scope on, each once. A scope without a handler is passed over; if no scope has one, that
// is ErrUnhandled; if all of them fail, ErrAborted with what they said. When it returns nil, accesses
// of the array go on.
func (r *Registry) Raise(ctx context.Context, e Event) (Outcome, error) {
	if err := e.validate(); err != nil {
		return Outcome{Event: e}, err
	}
	defer r.begin(e.Array)()
	return r.escalate(ctx, e, func(_ bool, err error) (bool, error) { return err != nil, err })
}

// escalate tries scope after scope. agree is told whether there is a handler here and what it said, and says
// whether it failed anywhere.
func (r *Registry) escalate(ctx context.Context, e Event, agree func(has bool, err error) (failed bool, _ error)) (Outcome, error) {
	out := Outcome{Event: e.clone()}
	handled := false
	for s := e.Scope; s <= Abort; s++ {
		now := e.clone()
		now.Scope = s
		h, ok := r.find(&now)
		err := errNoHandler
		if ok {
			var inside context.Context
			if inside, err = r.inside(ctx, &now); err == nil {
				err = call(inside, h, now)
			}
		}
		failed, err := agree(ok, err)
		if !failed {
			out.Scope = s
			return out, nil
		}
		if !errors.Is(err, errNoHandler) {
			handled = true
			out.Tried = append(out.Tried, err)
		}
	}
	out.Scope = Abort
	if !handled {
		return out, fmt.Errorf("%s event of array %q: %w", e.Kind, e.Array, ErrUnhandled)
	}
	return out, fmt.Errorf("%s event of array %q: %w: %w", e.Kind, e.Array, ErrAborted, errors.Join(out.Tried...))
}

var errNoHandler = errors.New("no handler in this scope")

// call runs a handler; a panic is an error of it.
func call(ctx context.Context, h Handler, e Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &comm.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return h(ctx, e)
}

// inside is the context of a handler, which knows of the events that are being handled. A handler may raise others, and the same one in another
// scope; one that raises its own again would not come to an end.
func (r *Registry) inside(ctx context.Context, e *Event) (context.Context, error) {
	same := *e
	same.Ranks = nil
	b, err := encodeEvent(&same)
	if err != nil {
		return nil, err
	}
	all, _ := ctx.Value(insideKey{r}).([]string)
	if slices.Contains(all, string(b)) || len(all) >= maxNested {
		return nil, fmt.Errorf("%s event of array %q, scope %v, raised by its own handler, or %d deep: %w", e.Kind, e.Array, e.Scope, len(all), ErrRecovering)
	}
	return context.WithValue(ctx, insideKey{r}, append(slices.Clip(all), string(b))), nil
}

// maxNested is how many events may be handled within each other.
const maxNested = 6

// CheckAll runs the checks by priority. The first that finds something raises its event, and the others
// wait for the next call. found is false if all is well. A check that panics is an error.
func (r *Registry) CheckAll(ctx context.Context) (out Outcome, found bool, err error) {
	r.mu.Lock()
	checks := slices.Clone(r.checks)
	r.mu.Unlock()
	for _, c := range checks {
		if err := ctx.Err(); err != nil {
			return Outcome{}, false, err
		}
		e, err := look(ctx, c)
		if err != nil {
			return Outcome{}, false, err
		}
		if e != nil {
			ev := e.clone()
			if ev.Attr == nil {
				ev.Attr = map[string]any{}
			}
			if _, ok := ev.Attr["check"]; !ok {
				ev.Attr["check"] = c.name
			}
			out, err := r.Raise(ctx, ev)
			return out, true, err
		}
	}
	return Outcome{}, false, nil
}

// look runs a check; a panic is an error of it.
func look(ctx context.Context, c check) (e *Event, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("check %q: %w", c.name, &comm.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	return c.run(ctx), nil
}

type insideKey struct{ r *Registry }

// begin marks an array as being recovered ("": all of them), and returns the end of it.
func (r *Registry) begin(array string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[array]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.busy[array]--; r.busy[array] == 0 {
			delete(r.busy, array)
		}
		close(r.resumed)
		r.resumed = make(chan struct{})
	}
}

// Enter is called before an access of an array: ErrRecovering while it is being recovered, unless the
// access is the handler's own.
func (r *Registry) Enter(ctx context.Context, array string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enter(ctx, array)
}

func (r *Registry) enter(ctx context.Context, array string) error {
	if ctx.Value(insideKey{r}) == nil && (r.busy[array] > 0 || r.busy[""] > 0) {
		return fmt.Errorf("array %q: %w", array, ErrRecovering)
	}
	return nil
}

// Wait returns when Enter would let the access pass, or with ctx.
func (r *Registry) Wait(ctx context.Context, array string) error {
	for {
		r.mu.Lock()
		err, ch := r.enter(ctx, array), r.resumed
		r.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
