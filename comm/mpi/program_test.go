//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"blobio/comm"
)

// adoptProgram is the main function of a program that starts MPI itself, at some thread level, and calls Adopt.
func adoptProgram() int {
	runtime.LockOSThread() // like a C program with one main thread
	want, _ := strconv.Atoi(os.Getenv("BLOBIO_TEST_LEVEL"))
	if _, err := Adopt(World(), nil); !errors.Is(err, comm.ErrUsage) {
		fmt.Println("Adopt before MPI was started:", err)
		return 1
	}
	level, err := start(want)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := adopted(level); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("adopted at level %d of %d asked for\n", level, want)
	if err := stop(); err != nil { // MPI is still running
		fmt.Println(err)
		return 1
	}
	if _, err := Adopt(World(), nil); !errors.Is(err, comm.ErrUsage) {
		fmt.Println("Adopt after MPI was ended:", err)
		return 1
	}
	return 0
}

func adopted(level int) error {
	ctx := context.Background()
	if _, err := Init(nil); !errors.Is(err, comm.ErrUsage) {
		return fmt.Errorf("Init of what runs: %w", err)
	}
	// Adopt and finalize repeatedly, like a model that does so for each file.
	for i := range 3000 {
		e, err := Adopt(World(), nil)
		if err != nil {
			return fmt.Errorf("Adopt %d: %w", i, err)
		}
		c := e.World()
		if i%100 == 0 {
			if err := exchange(ctx, c, i); err != nil {
				return err
			}
			got := make(chan error)
			go func() { got <- c.Barrier(ctx) }() // on another thread, because this goroutine holds its own
			if err := <-got; level <= levelFunneled && !errors.Is(err, comm.ErrUsage) || level > levelFunneled && err != nil {
				return fmt.Errorf("another thread at level %d: %w", level, err)
			}
			if err := exchange(ctx, c, i); err != nil { // the communication still works
				return err
			}
		}
		if err := e.Finalize(ctx); err != nil {
			return err
		}
		if err := e.World().Barrier(ctx); !errors.Is(err, comm.ErrUsage) {
			return fmt.Errorf("after Finalize: %w", err)
		}
	}
	return nil
}

// exchange sends data with all calls and checks the received data.
func exchange(ctx context.Context, c comm.Comm, seed int) error {
	n := c.Size()
	part := func(from, to int) []byte {
		return bytes.Repeat([]byte{byte(seed + 3*from + 7*to)}, seed%5*20000+from+2*to)
	}
	row := make([][]byte, n)
	for to := range row {
		row[to] = part(c.Rank(), to)
		if err := c.Send(ctx, to, seed%3, row[to]); err != nil {
			return err
		}
	}
	got, err := c.Alltoallv(ctx, row)
	if err != nil {
		return err
	}
	all, err := c.Allgather(ctx, part(c.Rank(), 0))
	if err != nil {
		return err
	}
	sum, err := c.AllreduceInt64(ctx, []int64{int64(c.Rank() + seed)}, comm.Sum)
	if err != nil {
		return err
	}
	if want := int64(n*seed + n*(n-1)/2); sum[0] != want {
		return fmt.Errorf("rank %d: sum %d, want %d", c.Rank(), sum[0], want)
	}
	for from := range n {
		m, err := c.Recv(ctx, from, seed%3)
		if err != nil {
			return err
		}
		one, err := c.Bcast(ctx, from, part(c.Rank(), 1))
		if err != nil {
			return err
		}
		for what, x := range map[string][2][]byte{"Recv": {m, part(from, c.Rank())}, "Alltoallv": {got[from], part(from, c.Rank())},
			"Allgather": {all[from], part(from, 0)}, "Bcast": {one, part(from, 1)}} {
			if !bytes.Equal(x[0], x[1]) {
				return fmt.Errorf("rank %d: %s from %d: %d bytes, want %d, or others", c.Rank(), what, from, len(x[0]), len(x[1]))
			}
		}
	}
	return nil
}

// huge exchanges more bytes than a C int can count, in pieces of the default size.
func huge(ctx context.Context, c comm.Comm) error {
	const n = 1<<31 + 12345
	fill := func(seed byte) []byte {
		b := make([]byte, n)
		for i := 0; i < n; i += 4093 {
			b[i] = byte(i>>12) + seed
		}
		return b
	}
	check := func(what string, b []byte, seed byte) error {
		if len(b) != n {
			return fmt.Errorf("%s: %d bytes, want %d", what, len(b), n)
		}
		for i := 0; i < n; i += 4093 {
			if b[i] != byte(i>>12)+seed {
				return fmt.Errorf("%s: byte %d is %d", what, i, b[i])
			}
		}
		return nil
	}
	if c.Rank() == 0 {
		if err := c.Send(ctx, 1, 0, fill(1)); err != nil {
			return err
		}
	} else {
		b, err := c.Recv(ctx, 0, 0)
		if err != nil {
			return err
		}
		if err := check("Recv", b, 1); err != nil {
			return err
		}
	}
	runtime.GC()
	var b []byte
	if c.Rank() == 0 {
		b = fill(2)
	}
	b, err := c.Bcast(ctx, 0, b)
	if err != nil {
		return err
	}
	if err := check("Bcast", b, 2); err != nil {
		return err
	}
	b = nil
	runtime.GC()
	if c.Rank() == 1 {
		b = fill(3)
	}
	all, err := c.Gather(ctx, 0, b)
	if err != nil || c.Rank() != 0 {
		return err
	}
	return check("Gather", all[1], 3)
}

// TestJobManyComms: a program may divide the ranks again for each file.
func TestJobManyComms(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	err := inJob(Options{RanksPerNode: 2})(t, 99, 2, func(ctx context.Context, c comm.Comm) error {
		links := func() int { return len(c.(*rank).e.links) }
		var last comm.Comm
		rounds := 2500 // more than MPICH's maximum number of communicators
		if c.Size() > 2 {
			rounds = 501
		}
		for i := range rounds {
			sub, err := c.Split(ctx, c.Rank()%2, -c.Rank())
			if err != nil {
				return fmt.Errorf("Split %d: %w", i, err)
			}
			if want := (c.Size() - c.Rank()%2 + 1) / 2; sub.Size() != want || sub.Rank() != want-1-c.Rank()/2 {
				return fmt.Errorf("Split %d: rank %d is %d of %d", i, c.Rank(), sub.Rank(), sub.Size())
			}
			node, err := c.SplitNode(ctx)
			if err != nil {
				return fmt.Errorf("SplitNode %d: %w", i, err)
			}
			if i%500 == 0 {
				// If rank 0 divides differently, no rank may reuse an old division.
				color := 0
				if c.Rank() == 0 {
					color = -1 - i
				}
				rest, err := c.Split(ctx, color, 0)
				if err != nil || (rest == nil) != (c.Rank() == 0) || rest != nil && rest.Size() != c.Size()-1 {
					return fmt.Errorf("Split %d without rank 0: %v, %w", i, rest, err)
				}
				// A message on one of two equal Comms is not received on the other.
				if last != nil {
					next, before := (sub.Rank()+1)%sub.Size(), (sub.Rank()+sub.Size()-1)%sub.Size()
					err := errors.Join(last.Send(ctx, next, 5, []byte("last")), sub.Send(ctx, next, 5, []byte("sub")), last.Send(ctx, next, 5, []byte("again")))
					if err != nil {
						return err
					}
					for _, x := range []struct {
						c    comm.Comm
						want string
					}{{sub, "sub"}, {last, "last"}, {last, "again"}} {
						if b, err := x.c.Recv(ctx, before, 5); err != nil || string(b) != x.want {
							return fmt.Errorf("got %q for %q, %w", b, x.want, err)
						}
					}
				}
				if err := errors.Join(exchange(ctx, sub, i), exchange(ctx, node, i)); err != nil {
					return err
				}
				last = sub
			}
		}
		if links() > 8 {
			return fmt.Errorf("%d communicators of MPI", links())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestJobNodesOfParts: SplitNode of a part of the ranks gives the same nodes as SplitNode of all ranks, and the ranks of a
// node can communicate.
func TestJobNodesOfParts(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	err := inJob(Options{})(t, 99, 2, func(ctx context.Context, c comm.Comm) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		me, size := c.Rank(), c.Size()
		for _, in := range []func(r int) bool{
			func(r int) bool { return r%2 == me%2 },
			func(r int) bool { return r/3 == me/3 },
			func(r int) bool { return (r == 0) == (me == 0) },
		} {
			color, want := -1, 0
			for r := range size {
				if in(r) {
					if color < 0 {
						color = r
					}
					if r/2 == me/2 {
						want++
					}
				}
			}
			part, err := c.Split(ctx, color, -me)
			if err != nil {
				return err
			}
			node, err := part.SplitNode(ctx)
			if err != nil {
				return err
			}
			if err := node.Barrier(ctx); err != nil {
				return fmt.Errorf("rank %d at a node of %d: %w", me, node.Size(), err)
			}
			if node.Size() != want {
				return fmt.Errorf("rank %d is on a node of %d, want %d", me, node.Size(), want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestJobSignals: the Go runtime interrupts threads with SIGURG. MPI must tolerate the signal on any thread, and goroutines
// that never yield must not stop MPI.
func TestJobSignals(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var sent atomic.Int64
	spun := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			tasks, err := os.ReadDir("/proc/self/task")
			if err != nil {
				return
			}
			for _, task := range tasks {
				if id, err := strconv.Atoi(task.Name()); err == nil && unix.Tgkill(os.Getpid(), id, unix.SIGURG) == nil {
					sent.Add(1)
				}
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			for range 1 << 22 { // the loop has no calls, so only a signal can preempt it
				spun++
			}
		}
	})
	err := inJob(Options{})(t, 99, 0, func(ctx context.Context, c comm.Comm) error {
		w, err := c.NewWindow(ctx, make([]byte, 8*c.Size()))
		if err != nil {
			return err
		}
		b := make([]byte, 8)
		least, rounds := 200/(c.Size()*c.Size())+5, 0 // values for two cores
		for i := 0; ; i++ {
			if i >= least { // continue at least until some signals have arrived
				n, err := c.AllreduceInt64(ctx, []int64{sent.Load()}, comm.Min)
				if err != nil {
					return err
				}
				if n[0] >= 100 {
					rounds = i
					break
				}
			}
			if err := exchange(ctx, c, i); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
			binary.NativeEndian.PutUint64(b, uint64(i+1))
			if err := w.Put(ctx, 0, int64(8*c.Rank()), b); err != nil {
				return err
			}
			if i%10 == 0 {
				runtime.GC()
			}
		}
		if err := w.Fence(ctx); err != nil {
			return err
		}
		for rank := range c.Size() {
			if err := w.Get(ctx, 0, int64(8*rank), b); err != nil {
				return err
			}
			if got := int(binary.NativeEndian.Uint64(b)); got != rounds {
				return fmt.Errorf("rank %d put %d, want %d", rank, got, rounds)
			}
		}
		return w.Free(ctx)
	})
	stop()
	wg.Wait()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d signals, %d turns", sent.Load(), spun)
}
