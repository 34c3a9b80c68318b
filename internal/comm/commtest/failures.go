package commtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"blobio/comm"
)

// call is one way to wait for other ranks.
type call struct {
	name string
	do   func(ctx context.Context, c comm.Comm) error
}

// calls are all collectives, and a Recv of a message that rank 1 never sends.
var calls = []call{
	{"Barrier", func(ctx context.Context, c comm.Comm) error { return c.Barrier(ctx) }},
	{"Bcast", func(ctx context.Context, c comm.Comm) error { _, err := c.Bcast(ctx, 0, nil); return err }},
	{"Gather", func(ctx context.Context, c comm.Comm) error { _, err := c.Gather(ctx, 0, nil); return err }},
	{"Allgather", func(ctx context.Context, c comm.Comm) error { _, err := c.Allgather(ctx, nil); return err }},
	{"Alltoallv", func(ctx context.Context, c comm.Comm) error { _, err := c.Alltoallv(ctx, nil); return err }},
	{"AllreduceInt64", func(ctx context.Context, c comm.Comm) error {
		_, err := c.AllreduceInt64(ctx, []int64{1}, comm.Sum)
		return err
	}},
	{"ExscanInt64", func(ctx context.Context, c comm.Comm) error {
		_, err := c.ExscanInt64(ctx, []int64{1}, comm.Sum)
		return err
	}},
	{"Allreduce of doubles", func(ctx context.Context, c comm.Comm) error {
		_, err := comm.AllreduceOne(ctx, c, 1.5, comm.Sum)
		return err
	}},
	{"Split", func(ctx context.Context, c comm.Comm) error { _, err := c.Split(ctx, 0, 0); return err }},
	{"SplitNode", func(ctx context.Context, c comm.Comm) error { _, err := c.SplitNode(ctx); return err }},
	{"Share", func(ctx context.Context, c comm.Comm) error { _, err := c.Share(ctx, 1); return err }},
	{"NewWindow", func(ctx context.Context, c comm.Comm) error { _, err := c.NewWindow(ctx, nil); return err }},
	{"Agree", func(ctx context.Context, c comm.Comm) error { return comm.Agree(ctx, c, nil) }},
	{"Recv", func(ctx context.Context, c comm.Comm) error { _, err := c.Recv(ctx, 1, 0); return err }},
}

// bounded runs f in a bubble of testing/synctest. The test fails if the run hangs or leaves a goroutine behind. In the bubble a
// sleep ends when all other goroutines wait.
func bounded(t *testing.T, run Runner, n, perNode int, f func(ctx context.Context, c comm.Comm) error) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = run(t, n, perNode, f) })
	return err
}

// allGet runs f on n ranks. It checks that want of the ranks, and the run, get an error of class.
func allGet(t *testing.T, run Runner, what string, n, want int, class error, f func(ctx context.Context, c comm.Comm) error) {
	t.Helper()
	var got atomic.Int64
	err := bounded(t, run, n, 0, func(ctx context.Context, c comm.Comm) error {
		err := f(ctx, c)
		if errors.Is(err, class) {
			got.Add(1)
		}
		return err
	})
	if int(got.Load()) != want || !errors.Is(err, class) {
		t.Errorf("%s: %d of %d ranks got %q; run returned %v", what, got.Load(), want, class, err)
	}
}

// Failures tests runs with failing or differing ranks. Every rank gets an error with the cause, no rank hangs, and no goroutine
// is left behind. run must start ranks as goroutines.
func Failures(t *testing.T, run Runner) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Runner)
	}{
		{"Error", testError},
		{"ErrorOfManyRanks", testErrorOfMany},
		{"ErrorElsewhere", testErrorElsewhere},
		{"Panic", testPanic},
		{"Goexit", testGoexit},
		{"Mismatch", testMismatch},
		{"Exited", testExited},
		{"Deadlock", testDeadlock},
		{"CallContext", testCallContext},
		{"Usage", testUsage},
		{"Late", testLate},
		{"AgreeThenFail", testAgreeThenFail},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, run) })
	}
}

var errDisk = errors.New("the disk is gone")

// after checks the errors of calls after cause broke the communication.
func after(ctx context.Context, c comm.Comm, cause error) error {
	for _, k := range calls {
		err := k.do(context.WithoutCancel(ctx), c)
		if !errors.Is(err, comm.ErrBroken) || !errors.Is(err, cause) {
			return fmt.Errorf("%s after the failure: %w, want ErrBroken and %w", k.name, err, cause)
		}
	}
	if err := c.Send(ctx, 0, 0, nil); !errors.Is(err, comm.ErrBroken) {
		return fmt.Errorf("after the failure, Send: %w, want ErrBroken", err)
	}
	return nil
}

// testError: rank 1 returns an error, and every kind of call in which other ranks wait fails.
func testError(t *testing.T, run Runner) {
	for _, k := range calls {
		for _, early := range []bool{false, true} {
			var wrong atomic.Pointer[error]
			err := bounded(t, run, 4, 0, func(ctx context.Context, c comm.Comm) error {
				if c.Rank() == 1 {
					if early {
						time.Sleep(2 * time.Millisecond) // now the other ranks wait
					}
					return fmt.Errorf("writing: %w", errDisk)
				}
				err := k.do(ctx, c)
				var re *comm.RankError
				if !errors.Is(err, errDisk) || !errors.As(err, &re) || re.Rank != 1 {
					err = fmt.Errorf("rank %d got %w", c.Rank(), err)
					wrong.CompareAndSwap(nil, &err)
				} else if e := after(ctx, c, errDisk); e != nil {
					wrong.CompareAndSwap(nil, &e)
				}
				return err
			})
			if p := wrong.Load(); p != nil {
				t.Errorf("%s: %v", k.name, *p)
			}
			var re *comm.RankError
			if !errors.As(err, &re) || re.Rank != 1 || !errors.Is(err, errDisk) {
				t.Errorf("%s: run returned %v", k.name, err)
			} else if n := strings.Count(err.Error(), errDisk.Error()); n != 1 {
				t.Errorf("%s: the error names the cause %d times, want once: %v", k.name, n, err)
			}
		}
	}
}

// testErrorOfMany: many ranks return errors. The error of the run contains each different error once.
func testErrorOfMany(t *testing.T, run Runner) {
	err := bounded(t, run, 12, 0, func(ctx context.Context, c comm.Comm) error {
		if c.Rank()%2 == 0 {
			return errDisk
		}
		return fmt.Errorf("file %d is full", c.Rank()/4)
	})
	for _, s := range []string{errDisk.Error(), "file 0 is", "file 1 is", "file 2 is"} {
		if err == nil || strings.Count(err.Error(), s) != 1 {
			t.Errorf("the error does not have %q once: %v", s, err)
		}
	}
}

// testErrorElsewhere: an error reaches ranks that wait in groups without the failing rank.
func testErrorElsewhere(t *testing.T, run Runner) {
	var wrong atomic.Int64
	err := bounded(t, run, 9, 3, func(ctx context.Context, c comm.Comm) error {
		node, err := c.SplitNode(ctx)
		if err != nil {
			return err
		}
		if c.Rank() == 8 {
			return errDisk
		}
		if c.Rank()%3 == 0 {
			_, err = node.Recv(ctx, 1, 0)
		} else {
			err = node.Barrier(ctx)
		}
		if !errors.Is(err, errDisk) {
			wrong.Add(1)
		}
		return err
	})
	if !errors.Is(err, errDisk) || wrong.Load() > 0 {
		t.Errorf("%d ranks got another error; run returned %v", wrong.Load(), err)
	}
}

func testPanic(t *testing.T, run Runner) {
	for _, value := range []any{"out of cheese", errDisk, nil} {
		err := bounded(t, run, 4, 0, func(ctx context.Context, c comm.Comm) error {
			if c.Rank() == 2 {
				explode(value)
			}
			return c.Barrier(ctx)
		})
		var pe *comm.PanicError
		var re *comm.RankError
		switch {
		case !errors.As(err, &pe) || !errors.As(err, &re) || re.Rank != 2:
			t.Errorf("panic(%v): run returned %v", value, err)
		case !strings.Contains(string(pe.Stack), "explode"):
			t.Errorf("panic(%v): the stack does not show it:\n%s", value, pe.Stack)
		case value == any(errDisk) && !errors.Is(err, errDisk):
			t.Errorf("panic(%v): the value is lost", value)
		}
	}
}

func explode(v any) { panic(v) }

// testGoexit: runtime.Goexit, which t.FailNow calls, ends the goroutine of a rank. This counts as an error of the rank.
func testGoexit(t *testing.T, run Runner) {
	err := bounded(t, run, 3, 0, func(ctx context.Context, c comm.Comm) error {
		if c.Rank() == 2 {
			runtime.Goexit()
		}
		return c.Barrier(ctx)
	})
	var re *comm.RankError
	if !errors.As(err, &re) || re.Rank != 2 || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("run returned %v", err)
	}
}

// testMismatch: if ranks call two different collectives, all ranks get an error. All pairs of collectives are tested.
func testMismatch(t *testing.T, run Runner) {
	variants := append([]call{
		{"Bcast(1)", func(ctx context.Context, c comm.Comm) error { _, err := c.Bcast(ctx, 1, nil); return err }},
		{"AllreduceInt64 of 2", func(ctx context.Context, c comm.Comm) error {
			_, err := c.AllreduceInt64(ctx, []int64{1, 2}, comm.Sum)
			return err
		}},
		{"AllreduceInt64 Max", func(ctx context.Context, c comm.Comm) error {
			_, err := c.AllreduceInt64(ctx, []int64{1}, comm.Max)
			return err
		}},
	}, calls...)
	skip := func(name string) bool { // Recv is not a collective, and the other calls begin with another collective
		return name == "Recv" || name == "Agree" || name == "Allreduce of doubles"
	}
	for i, a := range variants {
		for _, b := range variants[:i] {
			if skip(a.name) || skip(b.name) {
				continue
			}
			allGet(t, run, a.name+" with "+b.name, 3, 3, comm.ErrMismatch, func(ctx context.Context, c comm.Comm) error {
				if c.Rank() == 1 {
					return b.do(ctx, c)
				}
				return a.do(ctx, c)
			})
		}
	}
	// Collectives of two windows.
	err := bounded(t, run, 2, 0, func(ctx context.Context, c comm.Comm) error {
		var w [2]comm.Window
		for i := range w {
			var err error
			if w[i], err = c.NewWindow(ctx, nil); err != nil {
				return err
			}
		}
		return w[c.Rank()].Fence(ctx)
	})
	if !errors.Is(err, comm.ErrMismatch) {
		t.Errorf("Fence of two windows: %v", err)
	}
	// Two different reductions of float64. Here not the Comm but Allreduce detects the mismatch.
	err = bounded(t, run, 2, 0, func(ctx context.Context, c comm.Comm) error {
		_, err := comm.AllreduceOne(ctx, c, 1.5, []comm.Op{comm.Min, comm.Max}[c.Rank()])
		return err
	})
	if !errors.Is(err, comm.ErrMismatch) {
		t.Errorf("Min and Max of doubles: %v", err)
	}
}
