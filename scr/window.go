package scr

import (
	"context"
)

const (
	tagGo = 7101 + iota
	tagDone
)

// window calls f on each rank, on at most width of them at once; rank 0 admits the others. After a failure the ranks
// that were not admitted yet are told to skip. The outcome is the same on all ranks.
func (s *Session) window(ctx context.Context, width int, f func() error) error {
	n := s.c.Size()
	if width >= n {
		return s.agree(ctx, f())
	}
	var mine error
	if s.c.Rank() != 0 {
		b, err := s.c.Recv(ctx, 0, tagGo)
		if err != nil {
			return err
		}
		ok := []byte{1}
		if len(b) == 1 && b[0] == 1 {
			if mine = f(); mine != nil {
				ok[0] = 0
			}
		}
		if err := s.c.Send(ctx, 0, tagDone, ok); err != nil {
			return err
		}
		return s.agree(ctx, mine)
	}
	mine = f()
	good := mine == nil
	next, waiting := 1, 1
	admit := func() error {
		b := []byte{0}
		if good {
			b[0] = 1
		}
		next++
		return s.c.Send(ctx, next-1, tagGo, b)
	}
	for next < n && next <= width {
		if err := admit(); err != nil {
			return err
		}
	}
	for ; waiting < n; waiting++ {
		b, err := s.c.Recv(ctx, waiting, tagDone)
		if err != nil {
			return err
		}
		good = good && len(b) == 1 && b[0] == 1
		if next < n {
			if err := admit(); err != nil {
				return err
			}
		}
	}
	return s.agree(ctx, mine)
}
