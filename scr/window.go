package scr

import (
	"context"
)

const (
	tagGo = 7101 + iota
	tagDone
)

// window calls f on each rank, on at most width of them at once, rank 0 among them like any other: it admits the others
// while it does its own. f must not communicate. After a failure the ranks that were not admitted yet are told to skip.
// The outcome is the same on all ranks.
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
	done := make(chan error, 1)
	go func() { done <- f() }()
	own := true // not waited for yet
	defer func() {
		if own { // the communication broke
			<-done
		}
	}()
	good, next := true, 1
	admit := func() error {
		b := []byte{0}
		if good {
			b[0] = 1
		}
		next++
		return s.c.Send(ctx, next-1, tagGo, b)
	}
	for next < n && next < width {
		if err := admit(); err != nil {
			return err
		}
	}
	wait := func(rank int) error {
		if rank == 0 {
			mine, own = <-done, false
			good = good && mine == nil
			return nil
		}
		b, err := s.c.Recv(ctx, rank, tagDone)
		good = good && len(b) == 1 && b[0] == 1
		return err
	}
	for rank := range n {
		if err := wait(rank); err != nil {
			return err
		}
		if next < n {
			if err := admit(); err != nil {
				return err
			}
		}
	}
	return s.agree(ctx, mine)
}
