package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"blobio/comm"
)

// Handler recovers from an event. e.Scope is the scope that is being tried; an error or a
// panic moves on to the next one. With ctx the handler may raise
// other events, or the same one in another scope, but not its own again.
type Handler func(ctx context.Context, e Event) error

// Registry brings events to handlers. It belongs to one rank; all its methods may be called by
// several goroutines. Make it by NewRegistry.
type Registry struct {
	mu       sync.Mutex
	handlers []handler
	seq      int
}

type handler struct {
	pred     Pred
	priority int
	seq      int
	run      Handler
}

// NewRegistry returns a registry without handlers.
func NewRegistry() *Registry { return &Registry{} }

// On registers a handler for events that meet the predicate. Of those that take an event, the one with more terms goes
// first, then the higher priority, then the one registered later.
func (r *Registry) On(p Pred, priority int, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	r.handlers = append(r.handlers, handler{maps.Clone(p), priority, r.seq, h})
}

// find returns the handler that takes the event, in the scope that it has.
func (r *Registry) find(e *Event) (Handler, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *handler
	for i := range r.handlers {
		h := &r.handlers[i]
		if h.pred.match(e) && (best == nil || cmp.Or(cmp.Compare(len(h.pred), len(best.pred)), cmp.Compare(h.priority, best.priority), cmp.Compare(h.seq, best.seq)) > 0) {
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

// Raise handles a local event: only the handlers of this rank run. Scopes are tried
// from e.Scope on, each once. A scope without a handler is passed over; if no scope has one, that
// is ErrUnhandled; if all of them fail, ErrAborted with what they said.
func (r *Registry) Raise(ctx context.Context, e Event) error {
	if err := e.validate(); err != nil {
		return err
	}
	return r.escalate(ctx, e, func(_ bool, err error) error { return err })
}

// escalate tries scope after scope. agree is told whether there is a handler here and what it said, and says
// what came of it everywhere.
func (r *Registry) escalate(ctx context.Context, e Event, agree func(has bool, err error) error) error {
	var tried []error // what handlers of smaller scopes said
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
		if err = agree(ok, err); err == nil {
			return nil
		}
		if !errors.Is(err, errNoHandler) {
			tried = append(tried, err)
		}
	}
	if tried == nil {
		return fmt.Errorf("%s event of array %q: %w", e.Kind, e.Array, ErrUnhandled)
	}
	return fmt.Errorf("%s event of array %q: %w: %w", e.Kind, e.Array, ErrAborted, errors.Join(tried...))
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

type insideKey struct{ r *Registry }
