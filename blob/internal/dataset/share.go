package dataset

import (
	"context"

	"blobio/comm"
)

// Leader returns the lowest of the ranks that have a value in vals. Only ranks that share memory have one.
func Leader(vals []any) int {
	for i, v := range vals {
		if v != nil {
			return i
		}
	}
	return -1
}

// Share returns the values of all ranks that share memory, by rank. If ranks do not share memory, Share does not
// communicate.
func Share(ctx context.Context, c comm.Comm, v any) ([]any, error) {
	if comm.Apart(c) {
		all := make([]any, c.Size())
		all[c.Rank()] = v
		return all, nil
	}
	return c.Share(ctx, v)
}

// ShareOne makes a value on the lowest rank of each process and returns it on all ranks.
func ShareOne[T any](ctx context.Context, c comm.Comm, make func() *T) (*T, error) {
	if comm.Apart(c) {
		return make(), nil
	}
	here, err := c.Share(ctx, true)
	if err != nil {
		return nil, err
	}
	lead := Leader(here)
	var v *T
	if lead == c.Rank() {
		v = make()
	}
	all, err := c.Share(ctx, v)
	if err != nil {
		return nil, err
	}
	return all[lead].(*T), nil
}
