package pio

import (
	"context"
	"math"
)

// SetFrame chooses the record of a variable, counted from 0, that WriteDarray and ReadDarray mean; of a variable without records the index along its first
// dimension, if it has one more than the decomposition.
func (f *File) SetFrame(v int, frame int64) error {
	if err := f.usable(); err != nil {
		return err
	}
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
	if err := f.usable(); err != nil {
		return err
	}
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
	if err := f.usable(); err != nil {
		return 0, err
	}
	x, err := f.variable(v)
	if err != nil {
		return 0, err
	}
	return x.frame, nil
}

// WriteDarray writes the frame of a variable. data has the elements of this rank, of the decomposition's type, and may be longer than Decomp.Len; it is copied.
// Elements that no rank has become fill, a slice of one element of the same type, or with nil the variable's fill value. A value that does not
// fit the variable's type is ERANGE on all ranks, and nothing is written. Collective.
func (f *File) WriteDarray(ctx context.Context, v int, d *Decomp, data, fill any) error {
	return f.writeDarray(ctx, v, d, data, fill)
}

// WriteDarrayMulti is WriteDarray of several variables, with frames, nil for those of SetFrame, and fills, which may be nil. Collective.
func (f *File) WriteDarrayMulti(ctx context.Context, vars []int, d *Decomp, data []any, frames []int64, fills []any) error {
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

// ReadDarray reads the frame of a variable by any decomposition. into is a slice of the decomposition's type of at least Decomp.Len elements; those that are in no
// file stay as they are. Elements that nobody wrote are the variable's fill value. What was written before is committed first. Collective.
func (f *File) ReadDarray(ctx context.Context, v int, d *Decomp, into any) error {
	return f.readDarray(ctx, v, d, into)
}

// PutVars writes a part of a variable: count[i] elements from start[i] on, stride[i] apart, along each dimension, the record dimension
// included. start and count are both nil for the whole variable, stride nil for 1. imap tells where an element is in data, as distances along each dimension; nil: in C order.
// data is a slice of numbers, or Text, and may be longer. All ranks give the same; what rank SystemOptions.Base gives is written. Collective.
func (f *File) PutVars(ctx context.Context, v int, start, count, stride, imap []int64, data any) error {
	return f.putVars(ctx, v, start, count, stride, imap, data)
}

// GetVars reads a part of a variable, as PutVars writes it; each rank may want another part. What was written before is committed first. Collective.
func (f *File) GetVars(ctx context.Context, v int, start, count, stride, imap []int64, into any) error {
	return f.getVars(ctx, v, start, count, stride, imap, into)
}
