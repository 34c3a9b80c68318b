package comm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"blobio/comm"
	"blobio/internal/comm/commtest"
)

func TestRunArguments(t *testing.T) {
	never := func(context.Context, comm.Comm) error { t.Error("called"); return nil }
	for name, err := range map[string]error{
		"no ranks":     comm.Run(t.Context(), 0, nil, never),
		"too many":     comm.Run(t.Context(), 1<<24+1, nil, never),
		"RanksPerNode": comm.Run(t.Context(), 1, &comm.Options{RanksPerNode: -1}, never),
	} {
		if !errors.Is(err, comm.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := comm.Run(ctx, 1, nil, never); err != context.Canceled {
		t.Errorf("with a cancelled context: %v", err)
	}
}

func TestPlacement(t *testing.T) {
	for _, k := range []struct {
		o    comm.Options
		n    int
		want string // for each rank, the ranks of its node
	}{
		{comm.Options{RanksPerNode: 2}, 5, "01 01 23 23 4"},
		{comm.Options{RanksPerNode: 2, RoundRobin: true}, 5, "03 14 2 03 14"},
		{comm.Options{RoundRobin: true}, 3, "012 012 012"},
		{comm.Options{RanksPerNode: 9, RoundRobin: true}, 3, "012 012 012"},
	} {
		got := make([]string, k.n)
		err := comm.Run(t.Context(), k.n, &k.o, func(ctx context.Context, c comm.Comm) error {
			node, err := c.SplitNode(ctx)
			if err != nil {
				return err
			}
			all, err := node.Allgather(ctx, fmt.Append(nil, c.Rank()))
			for _, b := range all {
				got[c.Rank()] += string(b)
			}
			return err
		})
		if s := strings.Join(got, " "); err != nil || s != k.want {
			t.Errorf("%+v: %q, %v; want %q", k.o, s, err, k.want)
		}
	}
}

// TestCancel: the context of the run is cancelled while ranks wait, compute, or watch the context.
func TestCancel(t *testing.T) {
	for _, withCause := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { testCancel(t, withCause) })
	}
}

func testCancel(t *testing.T, withCause bool) {
	cause := errors.New("ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	var bare, broken atomic.Int64
	err := comm.Run(ctx, 6, nil, func(ctx context.Context, c comm.Comm) error {
		switch c.Rank() {
		case 5:
			synctest.Wait() // returns when the other ranks wait
			if withCause {
				cancel(cause)
			} else {
				cancel(nil)
			}
			<-ctx.Done()
			return ctx.Err()
		case 4:
			_, err := c.Recv(ctx, 5, 0)
			if err == context.Canceled {
				bare.Add(1)
			}
			return err
		}
		err := c.Barrier(ctx)
		if err == context.Canceled {
			bare.Add(1)
		}
		if err := c.Barrier(context.Background()); errors.Is(err, comm.ErrBroken) && errors.Is(err, context.Canceled) {
			broken.Add(1)
		}
		return err
	})
	if bare.Load() != 5 || broken.Load() != 4 {
		t.Errorf("%d of 5 ranks got context.Canceled, %d of 4 ErrBroken after it", bare.Load(), broken.Load())
	}
	if !errors.Is(err, context.Canceled) || errors.Is(err, cause) != withCause || strings.Count(err.Error(), "canceled") != 1 {
		t.Errorf("run returned %v", err)
	}
	cancel(nil)
}

func TestCancelledWhenDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := comm.Run(ctx, 4, nil, func(ctx context.Context, c comm.Comm) error {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		cancel()
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) { // a rank may have been in Barrier when the context ended
		t.Error(err)
	}
	cancel()
}

// TestSwallowed: Run returns the error that broke the communication even if the functions of all ranks drop it.
func TestSwallowed(t *testing.T) {
	err := comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		if c.Rank() == 0 {
			_ = c.Barrier(ctx)
		} else {
			_, _ = c.Bcast(ctx, 0, nil)
		}
		return nil
	})
	if !errors.Is(err, comm.ErrMismatch) || !strings.Contains(err.Error(), "Barrier") || !strings.Contains(err.Error(), "Bcast(root 0)") {
		t.Errorf("run returned %v", err)
	}
}

// TestManyGoroutines: without the deadlock check, a rank may communicate from one goroutine while another computes.
func TestManyGoroutines(t *testing.T) {
	err := comm.Run(t.Context(), 3, &comm.Options{DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		other, err := c.Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		var background error
		wg.Go(func() {
			for range 20 {
				if err := other.Barrier(ctx); err != nil {
					background = err
					return
				}
			}
		})
		for range 20 {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		wg.Wait()
		return background
	})
	if err != nil {
		t.Error(err)
	}
}

// TestShared: ranks of one heap share results and values; isolated ranks do not.
func TestShared(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		err := comm.Run(t.Context(), 3, nil, func(ctx context.Context, c comm.Comm) error {
			if isolate {
				c = commtest.Isolate(commtest.Isolate(c))
			}
			var err error
			if c, err = c.Split(ctx, 0, 0); err != nil { // a Comm from Split is isolated, too
				return err
			}
			all, err := c.Allgather(ctx, []byte{1})
			if err != nil {
				return err
			}
			one, err := c.Bcast(ctx, 0, []byte{2})
			if err != nil {
				return err
			}
			own := &struct{ all, one *byte }{&all[1][0], &one[0]}
			vals, err := c.Share(ctx, own)
			if err != nil {
				return err
			}
			for r, v := range vals {
				switch other, ok := v.(*struct{ all, one *byte }); {
				case ok != (!isolate || r == c.Rank()):
					return fmt.Errorf("value of rank %d: %v", r, v)
				case ok && (other.all != own.all || other.one != own.one):
					return errors.New("results are copied for each rank")
				}
			}
			if isolate {
				all[0][0], one[0] = 9, 9 // the race detector reports this if the bytes are shared
			}
			return c.Barrier(ctx)
		})
		if err != nil {
			t.Errorf("isolate %v: %v", isolate, err)
		}
	}
	if commtest.Isolate(nil) != nil {
		t.Error("Isolate(nil) is a Comm")
	}
}

func TestSelf(t *testing.T) { synctest.Test(t, testSelf) }

func testSelf(t *testing.T) {
	c := comm.Self()
	if err := c.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Barrier(ctx); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if err := c.Barrier(t.Context()); !errors.Is(err, comm.ErrBroken) {
		t.Errorf("after that: %v, want ErrBroken", err)
	}
	if err := comm.Self().Barrier(t.Context()); err != nil {
		t.Errorf("another Self: %v", err)
	}
	if _, err := comm.Self().Recv(t.Context(), 0, 0); !errors.Is(err, comm.ErrDeadlock) {
		t.Errorf("a message to oneself that was never sent: %v, want ErrDeadlock", err)
	}
}

// TestStress: all ranks run the same random program, and a random rank fails at a random step. Each collective has the same
// outcome on all ranks. The first collective that fails is one that the failing rank did not complete.
func TestStress(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range int64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewSource(seed))
			n, steps := 2+rng.Intn(12), 1+rng.Intn(20)
			kinds := make([]int, steps)
			for i := range kinds {
				kinds[i] = rng.Intn(6)
			}
			bad, at, how := rng.Intn(n), rng.Intn(steps), rng.Intn(5)
			completed := make([]int, n)
			err := comm.Run(t.Context(), n, nil, func(ctx context.Context, c comm.Comm) error {
				half, err := c.Split(ctx, c.Rank()%2, 0)
				if err != nil {
					return err
				}
				for i, k := range kinds {
					callCtx := ctx
					if c.Rank() == bad && i == at {
						switch how {
						case 0:
							return errors.New("stop")
						case 1:
							panic("stop")
						case 2:
							return nil
						case 3:
							cancelled, cancel := context.WithCancel(ctx)
							cancel()
							callCtx = cancelled
						case 4:
							k = (k + 1) % 6
						}
					}
					switch k {
					case 0:
						err = c.Barrier(callCtx)
					case 1:
						_, err = c.Allgather(callCtx, []byte{byte(i)})
					case 2:
						_, err = comm.AllreduceOne(callCtx, c, i, comm.Sum)
					case 3:
						_, err = c.Share(callCtx, i)
					case 4:
						_, err = c.ExscanInt64(callCtx, []int64{1}, comm.Sum)
					case 5:
						if err = half.Barrier(callCtx); err == nil {
							err = c.Barrier(callCtx)
						}
					}
					if err != nil {
						return err
					}
					completed[c.Rank()]++
				}
				return nil
			})
			if err == nil {
				t.Fatalf("seed %d: no error", seed)
			}
			for r, k := range completed {
				if k != at {
					t.Fatalf("seed %d: rank %d completed %d steps, want %d as of all (%v)", seed, r, k, at, err)
				}
			}
		})
	}
}
