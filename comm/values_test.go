package comm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
)

// TestAlltoallvSlices: appending to a received slice does not change other slices, and a wrong number of slices is an
// error.
func TestAlltoallvSlices(t *testing.T) {
	err := inProcess(t, 3, 3, func(ctx context.Context, c comm.Comm) error {
		var send [][]byte
		for to := range c.Size() {
			send = append(send, []byte{byte(c.Rank()), byte(to)})
		}
		got, err := c.Alltoallv(ctx, send)
		if err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		for i := range got {
			got[i] = append(got[i], 99)
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		for from, b := range got {
			if want := []byte{byte(from), byte(c.Rank()), 99}; !bytes.Equal(b, want) {
				return fmt.Errorf("rank %d has %v from %d, want %v", c.Rank(), b, from, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, n := range []int{1, 4} {
		err := inProcess(t, 3, 3, func(ctx context.Context, c comm.Comm) error {
			_, err := c.Alltoallv(ctx, make([][]byte, n))
			return err
		})
		if !errors.Is(err, comm.ErrUsage) {
			t.Errorf("%d slices of 3 ranks: %v", n, err)
		}
	}
}

// TestFloatLengths: ranks that reduce different numbers of floating-point elements get an error, whichever rank has more.
func TestFloatLengths(t *testing.T) {
	for more := range 2 {
		err := inProcess(t, 2, 2, func(ctx context.Context, c comm.Comm) error {
			n := 2
			if c.Rank() == more {
				n = 3
			}
			_, err := comm.Allreduce(ctx, c, make([]float64, n), comm.Sum)
			return err
		})
		if !errors.Is(err, comm.ErrMismatch) {
			t.Errorf("rank %d has more: %v", more, err)
		}
	}
}

// TestIsolatedValues: isolated ranks own the values that they receive, also in groups made by Split.
func TestIsolatedValues(t *testing.T) {
	err := isolated(t, 4, 2, func(ctx context.Context, c comm.Comm) error {
		node, err := c.SplitNode(ctx)
		if err != nil {
			return err
		}
		half, err := c.Split(ctx, c.Rank()%2, 0)
		if err != nil {
			return err
		}
		for name, g := range map[string]comm.Comm{"all": c, "node": node, "half": half} {
			if !comm.Apart(g) {
				return fmt.Errorf("%s: the ranks are not apart", name)
			}
		}
		for _, g := range []comm.Comm{c, node, half} {
			v, err := g.Share(ctx, c.Rank())
			if err != nil {
				return err
			}
			for r, x := range v {
				if (x != nil) != (r == g.Rank()) {
					return fmt.Errorf("rank %d has the value of rank %d: %v", g.Rank(), r, x)
				}
			}
			all, err := g.Allgather(ctx, []byte{1})
			if err != nil {
				return err
			}
			if err := g.Barrier(ctx); err != nil {
				return err
			}
			for r := range all {
				all[r][0] += byte(g.Rank())
			}
			if err := g.Barrier(ctx); err != nil {
				return err
			}
			for r := range all {
				if want := byte(1 + g.Rank()); all[r][0] != want {
					return fmt.Errorf("rank %d has %d of rank %d, want %d: another rank has changed it", g.Rank(), all[r][0], r, want)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// partly is a Comm in which one rank shares no heap with the others.
type partly struct{ comm.Comm }

func (p partly) Share(ctx context.Context, v any) ([]any, error) {
	all, err := p.Comm.Share(ctx, v)
	for r := range all {
		if (r == 2) != (p.Rank() == 2) {
			all = slices.Clone(all)
			all[r] = nil
		}
	}
	return all, err
}

// TestMemoryOfSome: if one rank cannot share memory, SharedMemory returns nil on all ranks.
func TestMemoryOfSome(t *testing.T) {
	err := inProcess(t, 3, 3, func(ctx context.Context, c comm.Comm) error {
		m, err := comm.SharedMemory(ctx, partly{c}, 8)
		if m != nil {
			err = fmt.Errorf("rank %d has memory", c.Rank())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGoneBefore: if another rank has returned, a call that needs this rank fails with ErrExited, not ErrDeadlock.
func TestGoneBefore(t *testing.T) {
	for name, late := range map[string]func(ctx context.Context, c comm.Comm) error{
		"Barrier": func(ctx context.Context, c comm.Comm) error { return c.Barrier(ctx) },
		"Recv":    func(ctx context.Context, c comm.Comm) error { _, err := c.Recv(ctx, 0, 1); return err },
	} {
		var got error
		err := inProcess(t, 2, 2, func(ctx context.Context, c comm.Comm) error {
			if c.Rank() == 0 {
				return nil
			}
			comm.AwaitGone(c, 1)
			got = late(ctx, c)
			return got
		})
		if !errors.Is(got, comm.ErrExited) || !errors.Is(err, comm.ErrExited) || !strings.Contains(got.Error(), "rank 0") {
			t.Errorf("%s: %v, of the run %v", name, got, err)
		}
	}
}
