package pio

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"blobio/cdf5"
)

// TestSpare checks that the buffers of written data are used again, within FileOptions.Buffer, and that the written records keep
// their values.
func TestSpare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		mine := []int64{int64(s.c.Rank() + 4), int64(s.c.Rank() + 1)} // unsorted: packed in another order
		d, err := s.InitDecomp(ctx, cdf5.Int, []int64{6}, mine, false)
		if err != nil {
			return err
		}
		f, err := s.Create(ctx, path, &FileOptions{Buffer: 20})
		if err != nil {
			return err
		}
		time, err1 := f.DefDim("time", Unlimited)
		x, err2 := f.DefDim("x", 6)
		v, err3 := f.DefVar("v", cdf5.Int, []int{time, x})
		if err := errors.Join(err1, err2, err3, f.EndDef()); err != nil {
			return err
		}
		values := func(frame int64) []int32 { return []int32{int32(100*frame + mine[0]), int32(100*frame + mine[1])} }
		for frame := range int64(3) {
			data := values(frame)
			err := errors.Join(f.SetFrame(v, frame), f.WriteDarray(ctx, v, d, data, nil))
			clear(data)
			if err := errors.Join(err, f.Sync(ctx)); err != nil {
				return err
			}
			if s.spare.bytes != 8 {
				return fmt.Errorf("frame %d: %d spare bytes, want the 8 of one write", frame, s.spare.bytes)
			}
		}
		for frame := range int64(3) {
			got := make([]int32, 2)
			if err := errors.Join(f.SetFrame(v, frame), f.ReadDarray(ctx, v, d, got)); err != nil {
				return err
			}
			if !slices.Equal(got, values(frame)) {
				return fmt.Errorf("frame %d: %v, want %v", frame, got, values(frame))
			}
		}
		return f.Close(ctx)
	})
	var s spare
	for range 3 { // the third exceeds the limit, so the first two are freed
		s.give(make([]byte, 8), 20)
	}
	if s.bytes != 8 {
		t.Errorf("%d spare bytes, want 8", s.bytes)
	}
	if s.give(make([]byte, 21), 20); s.bytes != 0 {
		t.Errorf("%d spare bytes after a buffer beyond the limit, want 0", s.bytes)
	}
}
