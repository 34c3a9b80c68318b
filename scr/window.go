package scr

import (
	"context"
)

const (
	tagGo = 7101 + iota
	tagDone
)

// window calls f on each rank, on at most width of them at once, rank 0 among them like any other: it admits the others
// while it does its own. f must not communicate. After a failure the ranks that were not admitted yet skip.
// The outcome is the same on all ranks.
func (j *job) window(ctx context.Context, width int, f func() error) error {
	n := j.c.Size()
	if width >= n {
		return j.agree(ctx, f())
	}
	var mine error
	if j.c.Rank() != 0 {
		b, err := j.c.Recv(ctx, 0, tagGo)
		if err != nil {
			return err
		}
		ok := []byte{1}
		if len(b) == 1 && b[0] == 1 {
			if mine = f(); mine != nil {
				ok[0] = 0
			}
		}
		if err := j.c.Send(ctx, 0, tagDone, ok); err != nil {
			return err
		}
		return j.agree(ctx, mine)
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
		return j.c.Send(ctx, next-1, tagGo, b)
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
		b, err := j.c.Recv(ctx, rank, tagDone)
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
	return j.agree(ctx, mine)
}
