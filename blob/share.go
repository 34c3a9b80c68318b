package blob

import (
	"context"

	"blobio/comm"
)

// leader returns the lowest rank whose value is there: of the ranks that share memory.
func leader(vals []any) int {
	for i, v := range vals {
		if v != nil {
			return i
		}
	}
	return -1
}

// shareOne makes a value on the lowest rank of each process and returns it on all.
func shareOne[T any](ctx context.Context, c comm.Comm, make func() *T) (*T, error) {
	here, err := c.Share(ctx, true)
	if err != nil {
		return nil, err
	}
	lead := leader(here)
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
