//go:build mpi && cgo && linux

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"blobio/comm"
	"blobio/internal/comm/inplace"
)

// TestJobManyFailures: a program may fail more often than MPI has communicators, with windows, common memory and groups in use.
// Nothing that one engine leaves behind affects the next engine.
func TestJobManyFailures(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	world := job.World()
	rounds := 400 / world.Size()
	if os.Getenv("BLOBIO_LONG") != "" {
		rounds = 1500
	}
	for i := range rounds {
		live, err := oneFailure(t.Context(), i)
		if err == nil && live != 0 {
			err = fmt.Errorf("%d communicators, windows and requests are left", live)
		}
		if err := comm.Agree(t.Context(), world, err); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

// TestJobKeptBuffers: a message that cannot be sent gives its buffer back. Finalize frees the buffers kept for later messages, also if
// MPI objects stay.
func TestJobKeptBuffers(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	e, err := job.Adopt(handleOf(job.World()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(exchange(t.Context(), e.World(), 4), e.World().Barrier(t.Context())); err != nil {
		t.Fatal(err)
	}
	kept := len(e.idle)
	e.mpiFailed = true // nothing may be freed
	e.Fail(errors.New("a failure"))
	next := (e.world.rank + 1) % e.world.size
	err = inplace.Send(t.Context(), e.World(), next, 0, minBlock-envelopeMPI, func([]byte) error { return nil })
	if err == nil || len(e.idle) != kept {
		t.Errorf("%d of %d buffers are left after a failed send: %v", len(e.idle), kept, err)
	}
	if err := e.Finalize(t.Context()); err != nil || len(e.idle) > 0 || e.live == 0 || kept == 0 && e.world.size > 1 {
		t.Errorf("%d of %d buffers and %d objects are left: %v", len(e.idle), kept, e.live, err)
	}
}

func oneFailure(ctx context.Context, i int) (live int, err error) {
	e, err := job.Adopt(handleOf(job.World()), nil)
	if err != nil {
		return 0, err
	}
	c := e.World()
	who, mine := i%c.Size(), fmt.Errorf("failure %d", i)
	err = use(ctx, c, i)
	if c.Rank() == who && err == nil {
		e.Fail(mine)
	} else if err == nil {
		_, err = c.Allgather(ctx, []byte("x"))
	}
	if x := e.Finalize(ctx); x != nil && (err == nil || i%16 == 0) { // the failure happened on a rank that did not report it
		err = x
	}
	var re *comm.RankError
	if c.Rank() != who && (!errors.As(err, &re) || re.Rank != who || re.Err.Error() != mine.Error()) {
		return e.live, fmt.Errorf("got %w, want that of %d", err, who)
	}
	return e.live, nil
}

// use makes windows, shared memory and groups. When one rank fails, the ranks are in different calls.
func use(ctx context.Context, c comm.Comm, i int) error {
	if i%8 != 0 {
		return nil
	}
	half, err := c.Split(ctx, c.Rank()%2, 0)
	if err != nil {
		return err
	}
	node, err := c.SplitNode(ctx)
	if err != nil {
		return err
	}
	if _, err := c.NewWindow(ctx, make([]byte, 100)); err != nil {
		return err
	}
	if _, err := comm.SharedMemory(ctx, node, 1000); err != nil {
		return err
	}
	if err := errors.Join(exchange(ctx, half, i), c.Barrier(ctx)); err != nil { // after this no message is in transit
		return err
	}
	if c.Rank() != i%c.Size() && i%16 == 0 {
		return half.Barrier(ctx) // waits for a rank that may never come
	}
	return nil
}
