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
		// The part of rank r has n elements, each for puts of one rank, then one element for puts of all ranks, and r more
		// bytes.
		local := make([]byte, 8*(n+1)+me)
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		for r := range n {
			if want := int64(8*(n+1) + r); w.Len(r) != want {
				return fmt.Errorf("Len(%d) = %d, want %d", r, w.Len(r), want)
			}
		}
		for r := range n {
			var b [8]byte
			binary.NativeEndian.PutUint64(b[:], uint64(100*me+r+1))
			if err := w.Put(ctx, r, int64(8*me), b[:]); err != nil {
				return err
			}
			if err := w.Put(ctx, r, int64(8*n), bytes.Repeat([]byte{byte(me + 1)}, 8)); err != nil {
				return err
			}
			clear(b[:]) // the buffer may be reused after the call
		}
		if err := w.Fence(ctx); err != nil {
			return err
		}
		// The owner sees the changes in its memory,
		num := func(i int) uint64 { return binary.NativeEndian.Uint64(local[8*i:]) }
		for r := range n {
			if num(r) != uint64(100*r+me+1) {
				return fmt.Errorf("rank %d put %d, want %d", r, num(r), 100*r+me+1)
			}
		}
		if b := local[8*n : 8*n+8]; b[0] < 1 || int(b[0]) > n || !bytes.Equal(b, bytes.Repeat(b[:1], 8)) {
			return fmt.Errorf("the element put by all ranks is % x, want 8 equal bytes from 1 to %d", b, n)
		}
		// and so do all other ranks, even in pieces.
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

// testWindowRange: an access out of range returns an error and changes nothing, and the Comm still works.
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
				"Put": w.Put(ctx, k.rank, k.off, b),
				"Get": w.Get(ctx, k.rank, k.off, make([]byte, 8)),
			} {
				if !errors.Is(err, comm.ErrRange) {
					return fmt.Errorf("%s at %d of rank %d: %w, want ErrRange", name, k.off, k.rank, err)
				}
			}
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

// testWindowEpochs: after each Fence, the owner in its memory and other ranks by Get see all changes of the epoch. Other
// bytes are unchanged.
func testWindowEpochs(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		n, me := c.Size(), c.Rank()
		local, want := make([]byte, 99), make([]byte, 99) // memory of this rank, and the expected bytes
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		for epoch := range 16 {
			switch at := 8 * (epoch % 4); epoch / 4 {
			case 0: // changed by the owner
				local[at] = byte(epoch + me + 1)
				want[at] = byte(epoch + me + 1)
			case 1: // changed by another rank
				if err := w.Put(ctx, (me+1)%n, int64(at), []byte{byte(epoch), byte(me)}); err != nil {
					return err
				}
				copy(want[at:], []byte{byte(epoch), byte((me + n - 1) % n)})
			case 2: // unchanged
			case 3: // changed by another rank, while the owner changes other bytes
				if err := w.Put(ctx, (me+1)%n, int64(at), bytes.Repeat([]byte{byte(me + 1)}, 8)); err != nil {
					return err
				}
				local[64+at] = byte(epoch)
				want[64+at] = byte(epoch)
				copy(want[at:], bytes.Repeat([]byte{byte((me+n-1)%n + 1)}, 8))
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
			if err := c.Barrier(ctx); err != nil { // wait, because the next epoch changes the bytes just read
				return err
			}
		}
		return w.Free(ctx)
	})
}
