//go:build mpi && cgo && linux

package mpi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
)

// TestJobPutOfElement: a put to a part of a word is not lost while another rank puts the rest of the word.
func TestJobPutOfElement(t *testing.T) {
	if job == nil {
		t.Skip("runs under mpirun, see TestUnderMPIRun")
	}
	if job.World().Size() > 1 && !job.world.local {
		return // between nodes only whole elements are safe
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

// putAll puts numbers into the first half of a word of rank 0. It repeats each put until the number is visible, and returns
// how many puts were lost.
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

// putRest puts numbers into the other half until the last number of putAll is visible.
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
