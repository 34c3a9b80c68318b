package pio

import (
	"context"
	"math"

	"blobio/comm"
)

// SetFrame chooses the record of a variable, counted from 0, that WriteDarray and ReadDarray mean; of a variable without records the index along its first
// dimension, if it has one more than the decomposition.
func (f *File) SetFrame(v int, frame int64) error {
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if frame < 0 {
		return failed(EINVAL, "%s: frame %d of %q, want 0 or more", f.path, frame, x.name)
	}
	x.frame = frame
	return nil
}

// AdvanceFrame goes to the next frame.
func (f *File) AdvanceFrame(v int) error {
	x, err := f.variable(v)
	if err != nil {
		return err
	}
	if x.frame == math.MaxInt64 {
		return failed(EINVAL, "%s: frame %d of %q is the last", f.path, x.frame, x.name)
	}
	x.frame++
	return nil
}

// Frame returns the frame of a variable, -1 if none was chosen, which is the first.
func (f *File) Frame(v int) (int64, error) {
	x, err := f.variable(v)
	if err != nil {
		return 0, err
	}
	return x.frame, nil
}

// WriteDarrayMulti is WriteDarray of several variables, with frames, nil for those of SetFrame, and fills, which may be nil. Collective.
func (f *File) WriteDarrayMulti(ctx context.Context, vars []int, d *Decomp, data []any, frames []int64, fills []any) error {
	ctx = comm.In(ctx, "File.WriteDarray")
	switch {
	case len(data) != len(vars), frames != nil && len(frames) != len(vars), fills != nil && len(fills) != len(vars):
		return failed(EINVAL, "%s: %d variables with %d data, %d frames, %d fills", f.path, len(vars), len(data), len(frames), len(fills))
	}
	for i, v := range vars {
		if frames != nil {
			if err := f.SetFrame(v, frames[i]); err != nil {
				return err
			}
		}
		var fill any
		if fills != nil {
			fill = fills[i]
		}
		if err := f.WriteDarray(ctx, v, d, data[i], fill); err != nil {
			return err
		}
	}
	return nil
}
