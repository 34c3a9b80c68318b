package recovery

import (
	"blobio/comm"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
)

// Handler recovers from an event. e.Scope is the scope being tried. After an error or a panic the registry tries the next scope.
// With ctx the handler may raise other events, or the same event in another scope, but not its own again.
type Handler func(ctx context.Context, e Event) error

// Registry brings events to handlers. It belongs to one rank. Its methods are safe for concurrent use. The zero value has no
// handlers.
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

// On registers a handler for events that match the predicate. Of several matching handlers the one with more terms comes first,
// then the one with the higher priority, then the one registered later.
func (r *Registry) On(p Pred, priority int, h Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	r.handlers = append(r.handlers, handler{maps.Clone(p), priority, r.seq, h})
}

// find returns the handler for the event in its scope.
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

// Raise handles a local event: only the handlers of this rank run. It tries each scope once from e.Scope on and skips scopes
// without a handler. The error is ErrUnhandled if no scope has a handler, and ErrAborted with the handlers' errors if all fail.
func (r *Registry) Raise(ctx context.Context, e Event) error {
	if err := e.validate(); err != nil {
		return err
	}
	return r.escalate(ctx, e, func(_ bool, err error) error { return err })
}

// escalate tries one scope after another. It passes to agree whether this rank has a handler, and the handler's error. agree
// returns the result of all ranks.
func (r *Registry) escalate(ctx context.Context, e Event, agree func(has bool, err error) error) error {
	var tried []error // errors of the handlers of smaller scopes
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

// call runs a handler and converts a panic to an error.
func call(ctx context.Context, h Handler, e Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &comm.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return h(ctx, e)
}

// inside returns the context of a handler, which records the events being handled. A handler may raise other events, or the same
// event in another scope. A handler that raises its own event again would never end.
func (r *Registry) inside(ctx context.Context, e *Event) (context.Context, error) {
	same := *e
	same.Ranks = nil
	b, err := encodeEvent(&same)
	if err != nil {
		return nil, err
	}
	all, _ := ctx.Value(insideKey{r}).([]string)
	if slices.Contains(all, string(b)) || len(all) >= maxNested {
		return nil, fmt.Errorf("%s event of array %q, scope %v: raised inside its own handler, or nested too deeply (%d levels): %w", e.Kind, e.Array, e.Scope, len(all), errRecovering)
	}
	return context.WithValue(ctx, insideKey{r}, append(slices.Clip(all), string(b))), nil
}

// maxNested is the maximum depth of nested event handling.
const maxNested = 6

type insideKey struct{ r *Registry }

var (
	// ErrNoRecovery means that there is no saved state to return to.
	ErrNoRecovery = errors.New("no saved state to return to")
	// ErrUnhandled means that no handler takes the event.
	ErrUnhandled = errors.New("no handler for the event")
	// errRecovering means that a handler raised its own event again.
	errRecovering = errors.New("recovery in progress")
	// errMetadataLost means that no replica and no saved version of the metadata is good.
	errMetadataLost = errors.New("metadata lost")
	// ErrAborted means that the handlers failed in every scope, or the configuration demands an abort.
	ErrAborted = errors.New("recovery abandoned")
)

// RaiseGlobal is collective. Each rank passes its event, or nil. All ranks see the same events, ordered by the ranks that raise
// them. Equal events of several ranks become one event with these ranks in Ranks. Every rank handles each event once. A scope
// succeeds if the handlers of all ranks succeed; otherwise all ranks try the next scope together. All ranks return the same
// result. An unhandled event does not stop the handling of the others; the error then names all unhandled events. Without events
// RaiseGlobal is one small collective.
func (r *Registry) RaiseGlobal(ctx context.Context, c comm.Comm, e *Event) error {
	var mine []byte
	var err error
	if e != nil {
		if err = e.validate(); err == nil {
			mine, err = encodeEvent(e)
		}
	}
	all, cerr := c.Allgather(ctx, mine)
	if cerr != nil {
		return cerr
	}
	events, derr := merge(all)
	if err := comm.Agree(ctx, c, errors.Join(err, derr)); err != nil {
		return err
	}
	var errs []error
	for _, ev := range events {
		err := r.raiseTogether(ctx, c, ev)
		errs = append(errs, err)
		if errors.Is(err, comm.ErrBroken) { // the remaining events cannot reach all ranks
			break
		}
	}
	return errors.Join(errs...)
}

func (r *Registry) raiseTogether(ctx context.Context, c comm.Comm, e Event) error {
	var broken error
	err := r.escalate(ctx, e, func(has bool, err error) error {
		if broken != nil {
			return broken
		}
		// If some ranks have no handler, these ranks report a failure of the handler.
		n, cerr := comm.AllreduceOne(ctx, c, int64(b2i(has)), comm.Sum)
		switch {
		case cerr != nil:
			broken = cerr
			return cerr
		case n == 0:
			return errNoHandler
		case !has:
			err = fmt.Errorf("rank %d has no handler, but other ranks have one", c.Rank())
		}
		if err = comm.Agree(ctx, c, err); errors.Is(err, comm.ErrBroken) {
			broken = err
		}
		return err
	})
	return cmp.Or(broken, err)
}

// merge decodes the events of all ranks and joins equal ones.
func merge(all [][]byte) ([]Event, error) {
	var out []Event
	var keys []string
	for rank, b := range all {
		if len(b) == 0 {
			continue
		}
		e, err := decodeEvent(b)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		ranks := e.Ranks
		if len(ranks) == 0 {
			ranks = []int{rank}
		}
		e.Ranks = nil
		kb, err := encodeEvent(&e)
		if err != nil {
			return nil, err
		}
		i := slices.Index(keys, string(kb))
		if i < 0 {
			i = len(out)
			out, keys = append(out, e), append(keys, string(kb))
		}
		out[i].Ranks = append(out[i].Ranks, ranks...)
	}
	for i := range out {
		slices.Sort(out[i].Ranks)
		out[i].Ranks = slices.Compact(out[i].Ranks)
	}
	return out, nil
}
