//go:build mpi && cgo

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/comm/commtest"
)

// TestJobPieces: with small pieces, longer data take several MPI calls.
func TestJobPieces(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	commtest.Suite(t, inJob(Options{Piece: 4096})) // with smaller pieces, long messages would take minutes
	err := inJob(Options{Piece: 4096})(t, 99, 0, alltoallvAtLimit)
	if err != nil {
		t.Error(err)
	}
	err = inJob(Options{Piece: 64})(t, 99, 0, func(ctx context.Context, c comm.Comm) error {
		part := func(from, to int) []byte { return bytes.Repeat([]byte{byte(from + 10*to + 1)}, 1000*from+100*to) }
		want := func(what string, got []byte, from, to int) error {
			if !bytes.Equal(got, part(from, to)) {
				return fmt.Errorf("%s: %d to %d: got %d bytes", what, from, to, len(got))
			}
			return nil
		}
		row := make([][]byte, c.Size())
		for to := range row {
			row[to] = part(c.Rank(), to)
			if err := c.Send(ctx, to, 1, row[to]); err != nil {
				return err
			}
		}
		got, err := c.Alltoallv(ctx, row)
		if err != nil {
			return err
		}
		all, err := c.Allgather(ctx, part(c.Rank(), 7))
		if err != nil {
			return err
		}
		w, err := c.NewWindow(ctx, make([]byte, 1000*c.Size()+8))
		if err != nil {
			return err
		}
		next := (c.Rank() + 1) % c.Size()
		if err := w.Put(ctx, next, 3, part(c.Rank(), 0)); err != nil {
			return err
		}
		b := make([]byte, 1000*c.Rank())
		if err := w.Get(ctx, next, 3, b); err != nil {
			return err
		}
		if err := errors.Join(w.Free(ctx), want("Get", b, c.Rank(), 0)); err != nil {
			return err
		}
		for from := range row {
			m, err := c.Recv(ctx, from, 1)
			if err != nil {
				return err
			}
			one, err := c.Bcast(ctx, from, part(c.Rank(), 3))
			if err != nil {
				return err
			}
			err = errors.Join(want("Recv", m, from, c.Rank()), want("Alltoallv", got[from], from, c.Rank()),
				want("Allgather", all[from], from, 7), want("Bcast", one, from, 3))
			if err != nil {
				return err
			}
		}
		v := make([]int64, 1000)
		for i := range v {
			v[i] = int64(i)
		}
		sum, err := c.AllreduceInt64(ctx, v, comm.Sum)
		if err == nil && sum[999] != int64(999*c.Size()) {
			err = fmt.Errorf("sum %d", sum[999])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// alltoallvAtLimit exchanges messages whose lengths on one rank are at and around the room on a board.
func alltoallvAtLimit(ctx context.Context, c comm.Comm) error {
	last := c.Size() - 1
	room := strideOf(c.Size()) - slotHead - 8*(2+c.Size())
	for _, n := range []int{room - 1, room, room + 1} {
		row := make([][]byte, c.Size())
		if c.Rank() == 0 {
			row[last] = bytes.Repeat([]byte{7}, n)
		}
		got, least, err := comm.AlltoallvMin(ctx, c, nil, row, int64(c.Rank()))
		if err != nil {
			return err
		}
		for from, b := range got {
			want := 0
			if from == 0 && c.Rank() == last {
				want = n
			}
			if len(b) != want || bytes.Count(b, []byte{7}) != want || least[0] != 0 {
				return fmt.Errorf("%d bytes from rank %d, want %d; minima %v", len(b), from, want, least)
			}
		}
	}
	return nil
}
