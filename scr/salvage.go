package scr

import "context"

// salvage saves a cached checkpoint of another number of ranks: see below.
func (s *Session) salvage(ctx context.Context, d *cachedSet, ranks int) (bool, error) {
	return false, nil
}
