package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/comm"
)

// RaiseGlobal is collective: each rank gives the event that it has to raise, nil if none. All ranks
// see the same events, in the same order: those of the lowest rank first; ranks that raise the same one make it one
// event with all of them in Ranks. Each is handled once on every rank; a scope counts as handled
// when the handlers of all ranks succeed, otherwise all go on to the next scope together. All ranks
// leave with the same result. An event that nobody handles does not keep the others from being handled; the error then tells of all that
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
