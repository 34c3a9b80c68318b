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

// Handler recovers from an event. e.Scope is the scope that is being tried; an error or a
// panic moves on to the next one. With ctx the handler may raise
// other events, or the same one in another scope, but not its own again.
type Handler func(ctx context.Context, e Event) error

// Registry brings events to handlers. It belongs to one rank; all its methods may be called by
// several goroutines. The zero value has no handlers.
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
// from e.Scope on, each once; scopes without a handler are passed over. The error is ErrUnhandled if no scope has a handler,
// and ErrAborted with the handlers' errors if all fail.
func (r *Registry) Raise(ctx context.Context, e Event) error {
	if err := e.validate(); err != nil {
		return err
	}
	return r.escalate(ctx, e, func(_ bool, err error) error { return err })
}

// escalate tries scope after scope. It passes to agree whether this rank has a handler and the handler's error; agree returns
// the result of all ranks.
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
		return nil, fmt.Errorf("%s event of array %q, scope %v: raised inside its own handler, or nested too deeply (%d levels): %w", e.Kind, e.Array, e.Scope, len(all), errRecovering)
	}
	return context.WithValue(ctx, insideKey{r}, append(slices.Clip(all), string(b))), nil
}

// maxNested is how many events may be handled within each other.
const maxNested = 6

type insideKey struct{ r *Registry }

var (
	// ErrNoRecovery: nothing was saved that the run could return to.
	ErrNoRecovery = errors.New("nothing to return to")
	// ErrUnhandled: no handler takes the event.
	ErrUnhandled = errors.New("no handler for the event")
	// errRecovering: a handler raised its own event again.
	errRecovering = errors.New("recovery in progress")
	// errMetadataLost: no replica and no saved version of the metadata is good.
	errMetadataLost = errors.New("metadata lost")
	// ErrAborted: every handler in every scope failed, or the configuration says abort.
	ErrAborted = errors.New("recovery abandoned")
)

// RaiseGlobal is collective: each rank gives the event that it has to raise, nil if none. All ranks
// see the same events, in the order of the ranks that raise them; ranks that raise the same one make it one
// event with all of them in Ranks. Each is handled once on every rank; a scope counts as handled
// when the handlers of all ranks succeed, otherwise all go on to the next scope together. All ranks
// leave with the same result. An event that nobody handles does not keep the others from being handled; the error then names all that
// were not. Without any event it is one small collective.
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
		if errors.Is(err, comm.ErrBroken) { // the others cannot be brought to all ranks
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
		// A handler that is missing on some ranks only is a failure of it, said by those.
		n, cerr := comm.AllreduceOne(ctx, c, int64(b2i(has)), comm.Sum)
		switch {
		case cerr != nil:
			broken = cerr
			return cerr
		case n == 0:
			return errNoHandler
		case !has:
			err = fmt.Errorf("rank %d has no handler, others have", c.Rank())
		}
		if err = comm.Agree(ctx, c, err); errors.Is(err, comm.ErrBroken) {
			broken = err
		}
		return err
	})
	return cmp.Or(broken, err)
}

// merge decodes the events of all ranks, and joins the same ones.
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
