//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"blobio/comm"
)

// TestAwaited: a receiver who has not seen yet that a message came does not wait for the one after it. A sender who took him for
// waiting would wait for him, and he may come only after the sender's next collective.
func TestAwaited(t *testing.T) {
	if job != nil {
		return
	}
	const ringed = 4 << 10
	arena := make([]byte, arenaHead+2*cacheLine+4*(ringHeadBytes+ringed))
	from, to := seat(arena, 0, 2), seat(arena, 1, 2)
	for _, n := range []*node{from, to} {
		n.ringed, n.outs = ringed, make([]outgoing, 2)
	}
	r := to.ring(0, 1)
	for _, at := range []uint32{0, 1<<31 - 96, 1<<32 - 96} { // the counters turn over
		r.head.Store(at)
		r.tail.Store(at)
		from.outs[1].head = at
		for i := range 5 {
			r.await()
			if !r.awaited() {
				t.Fatalf("at %d, message %d is not awaited", at, i)
			}
			from.post(1, &envelope{size: 8}, make([]byte, 8))
			if r.awaited() {
				t.Fatalf("at %d, message %d is awaited: a receiver sleeps who waits for the one before", at, i+1)
			}
			var v envelope
			r.peek(&v)
			if r.pop(&v); r.awaited() {
				t.Fatalf("at %d, message %d is awaited by who waited for the one before", at, i+1)
			}
			if r.found(); r.awaited() {
				t.Fatalf("at %d, message %d is awaited by nobody", at, i+1)
			}
		}
	}
}

// sharedWords are words that all ranks see, whatever has failed.
func sharedWords(ctx context.Context, c comm.Comm, n int) ([]atomic.Uint32, error) {
	m, err := comm.SharedMemory(ctx, c, 4*n)
	if err != nil || m == nil {
		return nil, err
	}
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&m.Bytes()[0])), n), nil
}

// reaches waits until f is true, for a minute.
func reaches(what string, f func() bool) error {
	for end := time.Now().Add(time.Minute); !f(); runtime.Gosched() {
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within a minute", what)
		}
	}
	return nil
}

// TestJobChangedLoan: a rank gives up a collective when others still read its buffer, and its caller changes that: they get the
// error of that rank, and not what they have read.
func TestJobChangedLoan(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	if job.World().Size() < 2 || !job.world.pulls() {
		return
	}
	err := inJob(Options{})(t, 2, 0, func(ctx context.Context, c comm.Comm) error {
		r := c.(*rank)
		gone, err := sharedWords(ctx, c, 1)
		if err != nil {
			return err
		}
		buf := bytes.Repeat([]byte{1}, 1<<20)
		first := r.board.round
		if c.Rank() == 0 {
			ctx, cancel := context.WithCancel(ctx)
			watched := make(chan error, 1)
			go func() {
				watched <- reaches("the second round", func() bool { return r.board.slot(first+1, 0).came.Load() == first+2 })
				cancel()
			}()
			_, err := c.Bcast(ctx, 0, buf)
			if err := <-watched; err != nil {
				return err
			}
			clear(buf)
			gone[0].Store(1)
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("rank 0 got %w", err)
			}
			return nil
		}
		// As Bcast does, slowly.
		size, err := r.begin(ctx, kBcast, 0, 0, 0, 0, nil)
		if err != nil {
			return err
		}
		if err := reaches("rank 0", func() bool { return gone[0].Load() == 1 }); err != nil {
			return err
		}
		err = r.e.home.do(func() error {
			got, at := make([]byte, size), uint64(0)
			at, _ = r.lent(0)
			if err := r.pull(0, at, got); err != nil {
				return err
			}
			return r.returned(ctx)
		})
		var re *comm.RankError
		if !errors.As(err, &re) || re.Rank != 0 || !errors.Is(err, context.Canceled) {
			return fmt.Errorf("rank 1 got %v, want the error of rank 0", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestJobLoanIsKept: what a rank lends to a long reduction stays until the others have read it, though its caller and the reduction are
// through with it.
func TestJobLoanIsKept(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	if job.World().Size() < 2 || !job.world.pulls() {
		return
	}
	for _, k := range []kind{kAllreduce, kExscan} {
		err := inJob(Options{})(t, 2, 0, func(ctx context.Context, c comm.Comm) error {
			r := c.(*rank)
			tried, err := sharedWords(ctx, c, 1)
			if err != nil {
				return err
			}
			v := make([]int64, 1<<18) // with half of them as result too long for a board
			for i := range v {
				v[i] = 1
			}
			first := r.board.round
			freed := make(chan error, 1)
			if c.Rank() == 0 {
				gone := make(chan bool)
				runtime.AddCleanup(&v[0], func(gone chan bool) { close(gone) }, gone)
				go func() {
					err := reaches("the second round", func() bool { return r.board.slot(first+1, 0).came.Load() == first+2 })
					for range 10 {
						runtime.GC()
						select {
						case <-gone:
							err = errors.New("what was lent is free before the other has read it")
						default:
						}
					}
					freed <- err
					tried[0].Store(1)
				}()
				_, err := r.reduce(ctx, k, v, comm.Sum)
				return errors.Join(err, <-freed)
			}
			// As reduce does, slowly.
			if _, err := r.begin(ctx, k, comm.Sum, 0, len(v), 0, raw(v)); err != nil {
				return err
			}
			if err := reaches("rank 0", func() bool { return tried[0].Load() == 1 }); err != nil {
				return err
			}
			res := make([]int64, len(v))
			err = r.call(ctx, func() error { return r.reduceNear(ctx, k, comm.Sum, v, res) })
			if want := int64(c.Size()); err == nil && k == kAllreduce && slices.Min(res) != want {
				err = fmt.Errorf("the least of the sums is %d, want %d", slices.Min(res), want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", kindNames[k], err)
		}
	}
}

// TestJobUnread: a long message that nobody receives keeps nobody from Finalize.
func TestJobUnread(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	if job.World().Size() < 2 || !job.world.pulls() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := func() error {
		e, err := job.Adopt(HandleOf(job.World()), nil)
		if err != nil {
			return err
		}
		c := e.World()
		for range 3 {
			if err := c.Send(ctx, (c.Rank()+1)%c.Size(), 1, make([]byte, 1<<20)); err != nil {
				return err
			}
		}
		return e.Finalize(ctx)
	}()
	if err := comm.Agree(t.Context(), job.World(), err); err != nil {
		t.Error(err)
	}
}

// TestJobPutOfElement: what is put in a part of a word stays, though another rank puts the rest of it all the time.
func TestJobPutOfElement(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	if job.World().Size() > 1 && job.world.board == nil {
		return // between nodes only elements are sure to stay
	}
	const puts = 20_000
	err := inJob(Options{})(t, 2, 0, func(ctx context.Context, c comm.Comm) error {
		w, err := c.NewWindow(ctx, make([]byte, 12))
		if err != nil {
			return err
		}
		lost := 0
		if c.Rank() == 0 {
			lost, err = putAll(ctx, w, puts)
		} else if c.Rank() == 1 {
			err = putRest(ctx, w, puts)
		}
		if err := errors.Join(err, w.Free(ctx)); err != nil {
			return err
		}
		if lost > 0 {
			return fmt.Errorf("%d of %d were lost", lost, puts)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// putAll puts numbers in the first half of a word of rank 0, each until it is there, and counts those that did not stay.
func putAll(ctx context.Context, w comm.Window, puts int) (lost int, err error) {
	b, got := make([]byte, 4), make([]byte, 4)
	for i := 1; i <= puts; i++ {
		binary.NativeEndian.PutUint32(b, uint32(i))
		for {
			if err := errors.Join(w.Put(ctx, 0, 0, b), w.Get(ctx, 0, 0, got)); err != nil {
				return lost, err
			}
			if bytes.Equal(b, got) {
				break
			}
			lost++
		}
	}
	return lost, nil
}

// putRest puts numbers in the other half until the last one of putAll is there.
func putRest(ctx context.Context, w comm.Window, puts int) error {
	b, got := make([]byte, 4), make([]byte, 4)
	for n := uint32(0); binary.NativeEndian.Uint32(got) != uint32(puts); n++ {
		binary.NativeEndian.PutUint32(b, n)
		if err := errors.Join(w.Put(ctx, 0, 4, b), w.Get(ctx, 0, 0, got)); err != nil {
			return err
		}
	}
	return nil
}
