package commtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// testLongMessages: messages of all lengths arrive unchanged, whether the receiver waits already or not.
func testLongMessages(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		next, prev := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		lengths := []int{0, 1, 1 << 10, 24 << 10, 24<<10 + 1, 100_000, 131_072, 131_073, 1_000_003}
		content := func(rank, k int) []byte {
			return bytes.Repeat([]byte{byte(rank), byte(k), 7}, lengths[k%len(lengths)]/3+1)[:lengths[k%len(lengths)]]
		}
		out := make([]byte, 1_000_003)
		send := func(k int) error {
			n := copy(out, content(c.Rank(), k))
			err := c.Send(ctx, next, k%2, out[:n])
			clear(out[:n]) // the caller may reuse the buffer
			return err
		}
		recv := func(k int) error {
			in, err := c.Recv(ctx, prev, k%2)
			if err != nil {
				return err
			}
			return equal(fmt.Sprintf("message %d", k), in, content(prev, k))
		}
		for k := range lengths { // one after the other, so that some ranks wait for a message
			if c.Rank()%2 == 1 {
				if err := recv(k); err != nil {
					return err
				}
			}
			if err := send(k); err != nil {
				return err
			}
			if c.Rank()%2 == 0 {
				if err := recv(k); err != nil {
					return err
				}
			}
		}
		for k := range 4 * len(lengths) { // all at once
			if err := send(k); err != nil {
				return err
			}
		}
		for tag := range 2 { // received in another order than they were sent
			for k := tag; k < 4*len(lengths); k += 2 {
				if err := recv(k); err != nil {
					return err
				}
			}
		}
		return c.Barrier(ctx)
	})
}

func testSendRecv(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		next, prev := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		const messages = 10
		send := func() error {
			for i := range messages {
				for tag := range 2 {
					if err := c.Send(ctx, next, tag, []byte{byte(c.Rank()), byte(tag), byte(i)}); err != nil {
						return err
					}
				}
			}
			return nil
		}
		recv := func() error {
			for i := range messages {
				for tag := range 2 {
					b, err := c.Recv(ctx, prev, tag)
					if err == nil {
						err = equal("message", b, []byte{byte(prev), byte(tag), byte(i)})
					}
					if err != nil {
						return err
					}
					b[0] = 0xff // the receiver owns the message
				}
			}
			return nil
		}
		if err := send(); err != nil { // all ranks send first, because Send does not wait
			return err
		}
		if err := recv(); err != nil {
			return err
		}
		// A message on one Comm is not received on another Comm, and does not interfere with
		// collectives.
		sub, err := c.Split(ctx, 0, -c.Rank())
		if err != nil || c.Size() < 2 {
			return err
		}
		switch c.Rank() {
		case 0:
			if err := c.Send(ctx, 1, 3, []byte("outer")); err != nil {
				return err
			}
			if err := sub.Send(ctx, c.Size()-2, 3, []byte("inner")); err != nil {
				return err
			}
		case 1:
			b, err := c.Recv(ctx, 0, 3)
			if err == nil {
				err = equal("outer", b, []byte("outer"))
			}
			if err != nil {
				return err
			}
			b, err = sub.Recv(ctx, c.Size()-1, 3)
			if err == nil {
				err = equal("inner", b, []byte("inner"))
			}
			if err != nil {
				return err
			}
		}
		return c.Barrier(ctx)
	})
}

func testSplit(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		// Use three colors; the ranks of the third get no group. The key reverses the order of the
		// ranks.
		color := c.Rank() % 3
		if color == 2 {
			color = -1
		}
		sub, err := c.Split(ctx, color, -c.Rank())
		if err != nil {
			return err
		}
		if color < 0 {
			if sub != nil {
				return errors.New("a rank without color got a Comm")
			}
			return c.Barrier(ctx)
		}
		var want []byte
		for r := c.Size() - 1; r >= 0; r-- {
			if r%3 == color {
				want = append(want, byte(r))
			}
		}
		if sub.Size() != len(want) || want[sub.Rank()] != byte(c.Rank()) {
			return fmt.Errorf("rank %d is rank %d of %d in its color, want order %v", c.Rank(), sub.Rank(), sub.Size(), want)
		}
		all, err := sub.Allgather(ctx, []byte{byte(c.Rank())})
		if err != nil {
			return err
		}
		for i, b := range all {
			if err := equal("member", b, want[i:i+1]); err != nil {
				return err
			}
		}
		// Groups are independent. A group of a group works in the same way.
		for range c.Rank() % 3 * 5 {
			if err := sub.Barrier(ctx); err != nil {
				return err
			}
		}
		subsub, err := sub.Split(ctx, sub.Rank()/2, 0)
		if err != nil {
			return err
		}
		n, err := comm.AllreduceOne(ctx, subsub, 1, comm.Sum)
		if err != nil {
			return err
		}
		if n != subsub.Size() || n > 2 || sub.Rank()%2 != subsub.Rank() {
			return fmt.Errorf("group of a group: rank %d of %d got sum %d", subsub.Rank(), subsub.Size(), n)
		}
		return c.Barrier(ctx)
	})
}

func testSplitNode(t *testing.T, run Runner) {
	for _, k := range []struct{ n, perNode int }{{1, 1}, {4, 2}, {8, 3}, {6, 0}, {5, 8}} {
		err := run(t, k.n, k.perNode, func(ctx context.Context, c comm.Comm) error {
			node, err := c.SplitNode(ctx)
			if err != nil {
				return err
			}
			per := k.perNode
			if per == 0 {
				per = c.Size()
			}
			first := c.Rank() / per * per
			if node.Rank() != c.Rank()-first || node.Size() != min(per, c.Size()-first) {
				return fmt.Errorf("rank %d has node rank %d of %d, want %d of %d", c.Rank(), node.Rank(), node.Size(), c.Rank()-first, min(per, c.Size()-first))
			}
			sum, err := comm.AllreduceOne(ctx, node, c.Rank(), comm.Sum)
			if err != nil {
				return err
			}
			if want := node.Size() * (2*first + node.Size() - 1) / 2; sum != want {
				return fmt.Errorf("node of rank %d: sum of ranks %d, want %d", c.Rank(), sum, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d ranks, %d per node: %v", k.n, k.perNode, err)
		}
	}
}

// testShare: a rank's own value is present, and other ranks' values are correct if present.
func testShare(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		own := new(int)
		*own = c.Rank()
		all, err := c.Share(ctx, own)
		if err != nil {
			return err
		}
		if len(all) != c.Size() || all[c.Rank()] != own {
			return fmt.Errorf("got %d values from Share, own %v", len(all), all[c.Rank()])
		}
		for r, v := range all {
			if p, ok := v.(*int); v != nil && (!ok || *p != r) {
				return fmt.Errorf("value of rank %d is %v", r, v)
			}
		}
		return c.Barrier(ctx)
	})
}

func testAgree(t *testing.T, run Runner) {
	mine := errors.New("something of my own")
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		for round := range 3 {
			if err := comm.Agree(ctx, c, nil); err != nil {
				return fmt.Errorf("nobody failed: %w", err)
			}
			// The last two ranks fail with different errors.
			lowest := max(0, c.Size()-2)
			var in error
			switch c.Rank() {
			case lowest:
				in = fmt.Errorf("round %d: %w", round, fault.ErrChecksum)
			case c.Size() - 1:
				in = fmt.Errorf("%w: %w", mine, fs.ErrPermission)
			}
			got := comm.Agree(ctx, c, in)
			var re *comm.RankError
			if !errors.As(got, &re) || re.Rank != lowest || !errors.Is(got, fault.ErrChecksum) || errors.Is(got, fault.ErrTruncated) {
				return fmt.Errorf("agreed on %w, want the error of rank %d", got, lowest)
			}
			if !strings.Contains(got.Error(), fmt.Sprintf("round %d", round)) {
				return fmt.Errorf("the text is lost: %v", got.Error())
			}
			if in != nil && !errors.Is(got, in) {
				return fmt.Errorf("rank %d lost its own error: %v", c.Rank(), got.Error())
			}
			// Ranks pass the error to each other repeatedly. Its text stays the same.
			again := got
			for range 3 {
				again = comm.Agree(ctx, c, again)
			}
			if again.Error() != got.Error() || !errors.As(again, &re) || re.Rank != lowest || strings.Count(again.Error(), "rank ") != min(c.Size()-1, 1) {
				return fmt.Errorf("agreed upon again, %q is %q", got, again)
			}
			// The first rank returns an error received from the last one.
			if in = nil; c.Rank() == 0 {
				in = comm.MetBy(c, c.Size()-1, fault.ErrRange)
			}
			if got := comm.Agree(ctx, c, in); !errors.As(got, &re) || re.Rank != c.Size()-1 || !errors.Is(got, fault.ErrRange) || strings.Count(got.Error(), "rank ") != min(c.Size()-1, 1) {
				return fmt.Errorf("got error %v, want an ErrRange that names rank %d once", got, c.Size()-1)
			}
		}
		return c.Barrier(ctx) // the Comm is still usable
	})
}

// testMixed: all ranks run many collectives of several Comms, and messages, in the same order.
func testMixed(t *testing.T, run Runner) {
	each(t, run, func(ctx context.Context, c comm.Comm) error {
		half, err := c.Split(ctx, c.Rank()%2, 0)
		if err != nil {
			return err
		}
		for i := range 50 {
			v, err := comm.AllreduceOne(ctx, half, int64(c.Rank()+i), comm.Sum)
			if err != nil {
				return err
			}
			want := int64(0)
			for r := c.Rank() % 2; r < c.Size(); r += 2 {
				want += int64(r + i)
			}
			if v != want {
				return fmt.Errorf("step %d: %d, want %d", i, v, want)
			}
			root := i % c.Size()
			b, err := c.Bcast(ctx, root, part(c.Rank()))
			if err == nil {
				err = equal("Bcast", b, part(root))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
