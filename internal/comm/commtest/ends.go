package commtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/comm"
)

// testExited: a rank returns nil while others wait for it, or before they wait.
func testExited(t *testing.T, run Runner) {
	for _, k := range calls {
		for _, late := range []bool{false, true} {
			allGet(t, run, k.name, 3, 2, comm.ErrExited, func(ctx context.Context, c comm.Comm) error {
				if c.Rank() != 1 {
					return k.do(ctx, c)
				}
				if late {
					time.Sleep(2 * time.Millisecond)
				}
				return nil
			})
		}
	}
	// One message is sent to a rank that has left, and one is sent by a rank before it leaves.
	err := bounded(t, run, 2, 0, func(ctx context.Context, c comm.Comm) error {
		if c.Rank() == 1 {
			return c.Send(ctx, 0, 7, []byte("bye"))
		}
		if b, err := c.Recv(ctx, 1, 7); err != nil || string(b) != "bye" {
			return fmt.Errorf("last message: %q, %w", b, err)
		}
		for { // the rank may still be leaving
			if err := c.Send(ctx, 1, 7, nil); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
	if !errors.Is(err, comm.ErrExited) {
		t.Errorf("Send to a rank that left: %v", err)
	}
	// A rank may leave if the other ranks communicate only with each other.
	err = bounded(t, run, 4, 0, func(ctx context.Context, c comm.Comm) error {
		sub, err := c.Split(ctx, min(c.Rank(), 1), 0)
		if err != nil || c.Rank() == 0 {
			return err
		}
		time.Sleep(2 * time.Millisecond)
		for range 10 {
			if err := sub.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("barriers of the remaining ranks: %v", err)
	}
}

func testDeadlock(t *testing.T, run Runner) {
	for name, f := range map[string]func(ctx context.Context, c, half comm.Comm) error{
		"all receive": func(ctx context.Context, c, half comm.Comm) error {
			_, err := c.Recv(ctx, (c.Rank()+1)%c.Size(), 1)
			return err
		},
		"two groups crosswise": func(ctx context.Context, c, half comm.Comm) error {
			if c.Rank() == 0 {
				return half.Barrier(ctx)
			}
			return c.Barrier(ctx)
		},
		"a message of another tag": func(ctx context.Context, c, half comm.Comm) error {
			if c.Rank() == 0 {
				_, err := c.Recv(ctx, 1, 1)
				return err
			}
			if c.Rank() == 1 {
				if err := c.Send(ctx, 0, 2, nil); err != nil {
					return err
				}
			}
			return c.Barrier(ctx)
		},
	} {
		allGet(t, run, name, 4, 4, comm.ErrDeadlock, func(ctx context.Context, c comm.Comm) error {
			half, err := c.Split(ctx, c.Rank()%2, 0)
			if err != nil {
				return err
			}
			return f(ctx, c, half)
		})
	}
	// A rank that waits while another computes is not deadlocked.
	err := bounded(t, run, 2, 0, func(ctx context.Context, c comm.Comm) error {
		if c.Rank() == 0 {
			time.Sleep(300 * time.Millisecond)
		}
		return c.Barrier(ctx)
	})
	if err != nil {
		t.Errorf("a slow rank: %v", err)
	}
}

// testCallContext: the context of one call on one rank is cancelled.
func testCallContext(t *testing.T, run Runner) {
	for _, k := range calls {
		for _, before := range []bool{false, true} {
			var wrong atomic.Pointer[error]
			note := func(err error) { wrong.CompareAndSwap(nil, &err) }
			err := bounded(t, run, 3, 0, func(ctx context.Context, c comm.Comm) error {
				if c.Rank() == 1 {
					<-ctx.Done() // this rank does not participate, and sees the end of the run
					if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
						note(fmt.Errorf("cause of the end is %w", cause))
					}
					return nil
				}
				callCtx, cancel := context.WithCancel(ctx)
				defer cancel()
				if c.Rank() == 0 {
					if before {
						cancel()
					} else {
						time.AfterFunc(2*time.Millisecond, cancel)
					}
				}
				err := k.do(callCtx, c)
				var re *comm.RankError
				switch {
				case c.Rank() == 0 && err != context.Canceled && k.name != "Agree":
					note(fmt.Errorf("rank 0 got %w, want context.Canceled itself", err))
				case c.Rank() == 2 && (!errors.Is(err, context.Canceled) || !errors.As(err, &re) || re.Rank != 0):
					note(fmt.Errorf("rank 2 got %w", err))
				}
				if e := after(ctx, c, context.Canceled); e != nil {
					note(e)
				}
				return nil // f does not return the error, but run returns it
			})
			if p := wrong.Load(); p != nil {
				t.Errorf("%s: %v", k.name, *p)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: run returned %v", k.name, err)
			}
		}
	}
}

// testUsage: a bad argument on one rank gives an error on all ranks.
func testUsage(t *testing.T, run Runner) {
	for _, k := range []call{
		{"root", func(ctx context.Context, c comm.Comm) error { _, err := c.Bcast(ctx, 3, nil); return err }},
		{"negative root", func(ctx context.Context, c comm.Comm) error { _, err := c.Gather(ctx, -1, nil); return err }},
		{"length", func(ctx context.Context, c comm.Comm) error {
			_, err := c.Alltoallv(ctx, make([][]byte, 2))
			return err
		}},
		{"op", func(ctx context.Context, c comm.Comm) error {
			_, err := c.AllreduceInt64(ctx, nil, comm.Min+1)
			return err
		}},
		{"op of Exscan", func(ctx context.Context, c comm.Comm) error {
			_, err := c.ExscanInt64(ctx, nil, 99)
			return err
		}},
		{"to", func(ctx context.Context, c comm.Comm) error { return c.Send(ctx, 3, 0, nil) }},
		{"tag", func(ctx context.Context, c comm.Comm) error { _, err := c.Recv(ctx, 0, -1); return err }},
	} {
		allGet(t, run, k.name, 3, 3, comm.ErrUsage, func(ctx context.Context, c comm.Comm) error {
			if c.Rank() == 1 {
				return k.do(ctx, c)
			}
			return c.Barrier(ctx)
		})
	}
}

// testLate: a failure after a complete collective does not undo it.
func testLate(t *testing.T, run Runner) {
	for range 20 {
		var passed atomic.Int64
		err := bounded(t, run, 5, 0, func(ctx context.Context, c comm.Comm) error {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			passed.Add(1)
			if c.Rank() == 3 {
				return errDisk
			}
			return nil
		})
		if passed.Load() != 5 || !errors.Is(err, errDisk) {
			t.Fatalf("%d of 5 ranks passed; run returned %v", passed.Load(), err)
		}
	}
}

// testAgreeThenFail: if a rank returns an agreed error, the error of the run contains it only once.
func testAgreeThenFail(t *testing.T, run Runner) {
	err := bounded(t, run, 5, 0, func(ctx context.Context, c comm.Comm) error {
		var in error
		if c.Rank() >= 3 {
			in = fmt.Errorf("file %d: %w", c.Rank(), errDisk)
		}
		err := comm.Agree(ctx, c, in)
		if err == nil {
			return errors.New("agreed on success")
		}
		if err := c.Barrier(ctx); err != nil {
			return fmt.Errorf("after Agree, Barrier: %w", err)
		}
		return err
	})
	if err == nil || strings.Count(err.Error(), "file 3") != 1 || strings.Count(err.Error(), "file 4") > 1 {
		t.Errorf("run returned %v", err)
	}
}
