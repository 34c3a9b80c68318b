package pio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"blobio/cdf5"
)

// TestMisfitsRead: a value that does not fit the memory is read as the default fill value of the memory's type, with ERANGE on all
// ranks, also those whose values fit. The other values are read.
func TestMisfitsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 6, &quick)
		if err != nil {
			return err
		}
		values := []int32{1, 300, 3, -300, 5, 1 << 30}
		att, bytes, floats := make([]int8, 6), make([]int8, 6), make([]float32, 3)
		err = errors.Join(f.PutAtt(Global, "wide", cdf5.Int, values), f.PutVars(ctx, 0, Part{}, values), wants("attribute", f.GetAtt(Global, "wide", att), ERANGE))
		if s.c.Rank() == 1 {
			err = errors.Join(err, wants("narrow", f.GetVars(ctx, 0, Part{}, bytes), ERANGE))
		} else {
			part := Part{Start: []int64{0}, Count: []int64{3}, Imap: []int64{1}}
			err = errors.Join(err, wants("wide", f.GetVars(ctx, 0, part, floats), ERANGE))
		}
		want := []int8{1, -127, 3, -127, 5, -127}
		if !slices.Equal(att, want) || s.c.Rank() == 1 && !slices.Equal(bytes, want) || s.c.Rank() != 1 && !slices.Equal(floats, []float32{1, 300, 3}) {
			return fmt.Errorf("%v, %v, %v: %w", att, bytes, floats, err)
		}
		return errors.Join(err, f.Close(ctx))
	})
}

// TestOnePlace: with an imap of 0, memory of one element receives the last of the elements, also converted.
func TestOnePlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 3, &quick)
		if err != nil {
			return err
		}
		part, ints, floats := Part{Start: []int64{0}, Count: []int64{3}, Imap: []int64{0}}, []int32{0}, []float32{0}
		err = errors.Join(f.PutVars(ctx, 0, Part{}, []int32{1, 2, 3}), f.GetVars(ctx, 0, part, ints), f.GetVars(ctx, 0, part, floats), f.Close(ctx))
		if err != nil || ints[0] != 3 || floats[0] != 3 {
			return fmt.Errorf("%v, %v: %w", ints, floats, err)
		}
		return nil
	})
}

// TestMisfits: a value that does not fit is written as the fill value, with ERANGE on all ranks. The other values are written, as
// netCDF documents.
func TestMisfits(t *testing.T) {
	const usual = -2147483647
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 6, with(func(o *FileOptions) { o.Memory = 1000 }))
		if err != nil {
			return err
		}
		me := int64(s.c.Rank())
		d, err := s.InitDecomp(ctx, cdf5.Double, []int64{6}, []int64{2*me + 1, 2*me + 2}, false)
		if err != nil {
			return err
		}
		frame := []float64{1e10, 2}
		if me != 1 {
			frame[0] = 1
		}
		err = errors.Join(f.PutAtt(1, "_FillValue", cdf5.Int, []int32{-5}),
			wants("attribute", f.PutAtt(Global, "bytes", cdf5.Byte, []int32{1, 300, 3, -300}), ERANGE),
			wants("put", f.PutVars(ctx, 0, Part{}, []float64{1, 1e10, 3, 4, math.NaN(), -1e10}), ERANGE),
			f.SetFrame(1, 0), wants("darray", f.WriteDarray(ctx, 1, d, frame, nil), ERANGE),
			wants("fill", f.WriteDarray(ctx, 1, d, frame, []float32{1}), EBADTYPE),
			f.SetFrame(1, 200*(me%2)), wants("frame beyond the room on rank 1", f.WriteDarray(ctx, 1, d, frame, nil), EINVALCOORDS), f.Close(ctx))
		if err != nil {
			return err
		}
		if f, err = s.Open(ctx, path, nil); err != nil {
			return err
		}
		bytes, fixed, rec := make([]int8, 4), make([]int32, 6), make([]int32, 6)
		err = errors.Join(f.GetAtt(Global, "bytes", bytes), f.GetVars(ctx, 0, Part{}, fixed), f.GetVars(ctx, 1, Part{}, rec), f.Close(ctx))
		if !slices.Equal(bytes, []int8{1, -127, 3, -127}) || !slices.Equal(fixed, []int32{1, usual, 3, 4, usual, usual}) || !slices.Equal(rec, []int32{1, 2, -5, 2, 1, 2}) {
			return fmt.Errorf("%v, %v, %v: %w", bytes, fixed, rec, err)
		}
		return err
	})
}
