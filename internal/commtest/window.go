package commtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"blobio/comm"
)

func testWindow(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		n, me := c.Size(), c.Rank()
		// The part of rank r: n slots to be put to, 2 accumulators, a counter, a lock, and r more bytes.
		local := make([]byte, 8*(n+4)+me)
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		for r := range n {
			if want := int64(8*(n+4) + r); w.Len(r) != want {
				return fmt.Errorf("Len(%d) = %d, want %d", r, w.Len(r), want)
			}
		}
		won := 0
		for r := range n {
			var b [8]byte
			binary.NativeEndian.PutUint64(b[:], uint64(100*me+r+1))
			if err := w.Put(ctx, r, int64(8*me), b[:]); err != nil {
				return err
			}
			clear(b[:]) // may be reused at once
			for range 10 {
				if err := w.AccumulateFloat64(ctx, r, int64(8*n), []float64{0.5}, comm.Sum); err != nil {
					return err
				}
				if err := w.AccumulateInt64(ctx, r, int64(8*n+8), []int64{1, 2}, comm.Sum); err != nil {
					return err
				}
			}
			was, err := w.CompareAndSwapInt64(ctx, r, int64(8*n+24), 0, int64(me+1))
			if err != nil {
				return err
			}
			if was == 0 {
				won++
			}
		}
		if err := w.Fence(ctx); err != nil {
			return err
		}
		// The owner sees it in its memory ...
		num := func(i int) uint64 { return binary.NativeEndian.Uint64(local[8*i:]) }
		for r := range n {
			if num(r) != uint64(100*r+me+1) {
				return fmt.Errorf("rank %d put %d, want %d", r, num(r), 100*r+me+1)
			}
		}
		if f := math.Float64frombits(num(n)); f != 5*float64(n) {
			return fmt.Errorf("accumulated %v, want %v", f, 5*float64(n))
		}
		if num(n+1) != uint64(10*n) || num(n+2) != uint64(20*n) {
			return fmt.Errorf("accumulated %d, %d, want %d, %d", num(n+1), num(n+2), 10*n, 20*n)
		}
		if k := num(n + 3); k < 1 || k > uint64(n) {
			return fmt.Errorf("lock is held by %d", k)
		}
		wins, err := comm.AllreduceOne(ctx, c, won, comm.Sum)
		if err != nil {
			return err
		}
		if wins != n {
			return fmt.Errorf("%d ranks won %d locks", wins, n)
		}
		// ... and so does everybody else, in pieces too.
		other := (me + 1) % n
		b := make([]byte, 8*n)
		if err := w.Get(ctx, other, 0, b[:3]); err != nil {
			return err
		}
		if err := w.Get(ctx, other, 3, b[3:]); err != nil {
			return err
		}
		for r := range n {
			if got := binary.NativeEndian.Uint64(b[8*r:]); got != uint64(100*r+other+1) {
				return fmt.Errorf("got %d of rank %d, want %d", got, other, 100*r+other+1)
			}
		}
		return w.Free(ctx)
	})
}

// testWindowRange: an access out of range is an error, changes nothing and breaks nothing.
func testWindowRange(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		local := make([]byte, 16)
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
		for _, k := range []struct {
			rank int
			off  int64
		}{{0, -1}, {0, 9}, {0, 16}, {0, math.MaxInt64}, {0, math.MinInt64}, {-1, 0}, {c.Size(), 0}} {
			for name, err := range map[string]error{
				"Put":               w.Put(ctx, k.rank, k.off, b),
				"Get":               w.Get(ctx, k.rank, k.off, make([]byte, 8)),
				"AccumulateInt64":   w.AccumulateInt64(ctx, k.rank, k.off, []int64{1}, comm.Sum),
				"AccumulateFloat64": w.AccumulateFloat64(ctx, k.rank, k.off, []float64{1}, comm.Replace),
			} {
				if !errors.Is(err, comm.ErrRange) {
					return fmt.Errorf("%s at %d of rank %d: %w, want ErrRange", name, k.off, k.rank, err)
				}
			}
		}
		if err := w.AccumulateFloat64(ctx, 0, 0, []float64{1}, comm.BXor); !errors.Is(err, comm.ErrUsage) {
			return fmt.Errorf("BXor of doubles: %w, want ErrUsage", err)
		}
		if err := w.Put(ctx, 0, 16, nil); err != nil {
			return fmt.Errorf("nothing at the end: %w", err)
		}
		if err := w.Fence(ctx); err != nil {
			return err
		}
		if err := equal("after failed accesses", local, make([]byte, 16)); err != nil {
			return err
		}
		if err := w.Free(ctx); err != nil {
			return err
		}
		if err := w.Put(ctx, 0, 0, b); !errors.Is(err, comm.ErrUsage) {
			return fmt.Errorf("on Put to a freed window: %w, want ErrUsage", err)
		}
		return c.Barrier(ctx)
	})
}

// testWindowEpochs: after each Fence the owner has in its memory, and all find there, what the owner or others changed in that epoch, and what
// nobody changed stays.
func testWindowEpochs(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		n, me := c.Size(), c.Rank()
		local, want := make([]byte, 99), make([]byte, 99) // of rank r, and what it should be
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		for epoch := range 16 {
			switch at := 8 * (epoch % 4); epoch / 4 {
			case 0: // the owner
				local[at] = byte(epoch + me + 1)
				want[at] = byte(epoch + me + 1)
			case 1: // another one
				if err := w.Put(ctx, (me+1)%n, int64(at), []byte{byte(epoch), byte(me)}); err != nil {
					return err
				}
				copy(want[at:], []byte{byte(epoch), byte((me + n - 1) % n)})
			case 2: // nobody
			case 3: // another one, and the owner elsewhere
				if err := w.AccumulateInt64(ctx, (me+1)%n, int64(at), []int64{int64(me + 1)}, comm.Replace); err != nil {
					return err
				}
				local[64+at] = byte(epoch)
				want[64+at] = byte(epoch)
				binary.NativeEndian.PutUint64(want[at:], uint64((me+n-1)%n+1))
			}
			if err := w.Fence(ctx); err != nil {
				return err
			}
			if err := equal(fmt.Sprint("after epoch ", epoch), local, want); err != nil {
				return err
			}
			got := make([]byte, len(local))
			if err := w.Get(ctx, me, 0, got); err != nil {
				return err
			}
			if err := equal(fmt.Sprint("read after epoch ", epoch), got, want); err != nil {
				return err
			}
			if err := c.Barrier(ctx); err != nil { // the next epoch changes what was just read
				return err
			}
		}
		return w.Free(ctx)
	})
}

// testWindowOps: each op, on elements that lie at any byte.
func testWindowOps(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		const ops = int(comm.Replace) + 1
		n, me := c.Size(), c.Rank()
		local := make([]byte, 16*ops*n+8)
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		for _, shift := range []int{0, 3} {
			for i := range ops {
				op, off := comm.Op(i), int64(16*(me*ops+i)+shift)
				acc := [1]int64{7}
				op.CombineInt64(acc[:], []int64{5})
				if err := w.AccumulateInt64(ctx, 0, off, []int64{7}, comm.Replace); err != nil {
					return err
				}
				was, err := w.FetchInt64(ctx, 0, off, 5, op)
				if err != nil {
					return err
				}
				now, err := w.CompareAndSwapInt64(ctx, 0, off, acc[0], 1)
				if err != nil {
					return err
				}
				if was != 7 || now != acc[0] {
					return fmt.Errorf("7 %v 5 at byte %d: found %d, made %d, want %d", op, off, was, now, acc[0])
				}
				if op > comm.Min && op != comm.Replace {
					continue
				}
				x := map[comm.Op]float64{comm.Sum: 3.5, comm.Prod: -15, comm.Max: 6, comm.Min: -2.5, comm.Replace: -2.5}[op]
				var b [8]byte
				for _, k := range []struct {
					v  float64
					op comm.Op
				}{{6, comm.Replace}, {-2.5, op}} {
					if err := w.AccumulateFloat64(ctx, 0, off, []float64{k.v}, k.op); err != nil {
						return err
					}
				}
				if err := w.Get(ctx, 0, off, b[:]); err != nil {
					return err
				}
				if got := math.Float64frombits(binary.NativeEndian.Uint64(b[:])); got != x {
					return fmt.Errorf("6 %v -2.5 at byte %d: %v, want %v", op, off, got, x)
				}
			}
			if err := w.Fence(ctx); err != nil {
				return err
			}
		}
		return w.Free(ctx)
	})
}

// testRecycle: memory that was given back is used again by nobody who still has something in it.
func testRecycle(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		n, me := c.Size(), c.Rank()
		part := func(round, from, to int) []byte {
			return bytes.Repeat([]byte{byte(round), byte(from), byte(to), 1}, 100*(1+round%5*37))
		}
		var kept [][]byte
		for round := range 30 {
			out := make([][]byte, n)
			for i := range out {
				out[i] = part(round, me, i)
			}
			in, err := c.Alltoallv(ctx, out)
			if err != nil {
				return err
			}
			all, err := c.Allgather(ctx, part(round, me, 0))
			if err != nil {
				return err
			}
			var told []byte
			if me == round%n {
				told = part(round, me, 0)
			}
			one, err := c.Bcast(ctx, round%n, told)
			if err != nil {
				return err
			}
			for i := range n {
				if err := equal("Alltoallv", in[i], part(round, i, me)); err != nil {
					return err
				}
				if err := equal("Allgather", all[i], part(round, i, 0)); err != nil {
					return err
				}
			}
			if err := equal("Bcast", one, part(round, round%n, 0)); err != nil {
				return err
			}
			for i, b := range kept {
				if err := equal("what was kept", b, part(i, me, me)); err != nil {
					return err
				}
			}
			kept = append(kept, in[me])
			in[me] = nil
			comm.Recycle(c, in...)
			comm.Recycle(c, all...)
			comm.Recycle(c, one)
		}
		return nil
	})
}
