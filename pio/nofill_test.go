package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/cdf5"
)

// TestRestOfPut checks that elements not written by PutVars are 0 in files without a fill mode, as in PIO. A fill mode, a fill
// value or a write by a decomposition makes them the fill value.
func TestRestOfPut(t *testing.T) {
	const usual = -2147483647
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := s.Create(ctx, path, &quick)
		if err != nil {
			return err
		}
		rec, err1 := f.DefDim("time", Unlimited)
		x, err2 := f.DefDim("x", 4)
		_, err3 := f.DefVar("filled", cdf5.Int, []int{rec, x})
		_, err4 := f.SetFill(true)
		filled, err9 := f.Var(0)
		if !filled.NoFill {
			return errors.New("the fill mode of the file does not change a variable that is already defined")
		}
		err10 := f.DefVarFill(0, false, nil)
		_, err5 := f.DefVar("not", cdf5.Int, []int{rec, x})
		_, err6 := f.DefVar("value", cdf5.Int, []int{rec, x})
		_, err7 := f.DefVar("decomposed", cdf5.Int, []int{rec, x})
		err8 := f.PutAtt(2, "_FillValue", cdf5.Int, []int32{-5})
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, f.EndDef()); err != nil {
			return err
		}
		for v := range 4 {
			err = errors.Join(err, f.PutVars(ctx, v, Part{Start: []int64{2, 1}, Count: []int64{1, 1}}, []int32{7}))
		}
		d, derr := s.InitDecomp(ctx, cdf5.Int, []int64{4}, []int64{int64(s.c.Rank()) + 1}, false) // no rank owns element 4
		if err := errors.Join(err, derr, f.SetFrame(3, 2), f.WriteDarray(ctx, 3, d, []int32{8}, nil)); err != nil {
			return err
		}
		for v, want := range [][]int32{{usual, usual, 7, usual, usual}, {usual, 0, 7, 0, 0}, {-5, -5, 7, -5, -5}, {usual, 8, 8, 8, usual}} {
			got := make([]int32, 12)
			if err := f.GetVars(ctx, v, Part{}, got); err != nil || !slices.Equal(got[7:], want) {
				return fmt.Errorf("variable %d: %v, want %v: %w", v, got[7:], want, err)
			}
		}
		return f.Close(ctx)
	})
}

// TestBlank checks that a large variable without writes takes no space, also after a commit that rewrites the file, and that its
// elements are fill values until they are written.
func TestBlank(t *testing.T) {
	const n = 1 << 18
	for _, form := range []Form{Variable, Process} {
		path := filepath.Join(t.TempDir(), "a.nc")
		together(t, 2, func(ctx context.Context, s *System) error {
			f, err := s.Create(ctx, path, with(func(o *FileOptions) { o.Form = form }))
			if err != nil {
				return err
			}
			x, err1 := f.DefDim("x", n)
			_, err2 := f.DefVar("blank", cdf5.Double, []int{x})
			check := func(third float64) error {
				got, want := make([]float64, n), slices.Repeat([]float64{-5}, n)
				want[3] = third
				if err := f.GetVars(ctx, 0, Part{}, got); err != nil || !slices.Equal(got, want) {
					return fmt.Errorf("%v: elements %v..., want %v...: %w", form, got[:5], want[:5], err)
				}
				info, err := os.Stat(path + ".0000")
				if err == nil && third == -5 && info.Size() > n {
					err = fmt.Errorf("%v: %d bytes of a file without data", form, info.Size())
				}
				return err
			}
			err = errors.Join(err1, err2, f.PutAtt(0, "_FillValue", cdf5.Double, []float64{-5}), f.EndDef(), f.Sync(ctx), check(-5), f.Redef())
			_, err1 = f.DefVar("another", cdf5.Int, []int{x})
			return errors.Join(err, err1, f.EndDef(), f.Sync(ctx), check(-5),
				f.PutVars(ctx, 0, Part{Start: []int64{3}, Count: []int64{1}}, []float64{7}), f.Sync(ctx), check(7), f.Close(ctx))
		})
	}
}

// TestAutoDefine checks that a second Redef or EndDef is an error even if definitions need no Redef. Definitions begin define
// mode, and data calls end it.
func TestAutoDefine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Auto = true }))
		if err != nil {
			return err
		}
		_, derr := f.DefDim("more", 3)
		att := func(n int) error { return f.PutAtt(Global, "a", cdf5.Int, make([]int32, n)) }
		return errors.Join(derr, f.Redef(), wants("redef again", f.Redef(), EINDEFINE), f.PutVars(ctx, 1, Part{Start: []int64{0, 0}, Count: []int64{1, 1}}, []int32{7}),
			wants("enddef after data", f.EndDef(), ENOTINDEFINE), f.Redef(), f.EndDef(), wants("enddef again", f.EndDef(), ENOTINDEFINE),
			att(1), f.EndDef(), att(1), wants("enddef after an old attribute", f.EndDef(), ENOTINDEFINE), att(2), f.EndDef(),
			f.DefVarFill(0, true, nil), f.EndDef(), f.Close(ctx))
	})
}

// TestFillOfNothing checks that the fill value is ignored if the ranks have all elements of a frame. It may differ between ranks
// and need not fit.
func TestFillOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 2, &quick)
		if err != nil {
			return err
		}
		me := int64(s.c.Rank())
		ints, err1 := s.InitDecomp(ctx, cdf5.Int, []int64{2}, []int64{me + 1}, false)
		floats, err2 := s.InitDecomp(ctx, cdf5.Float, []int64{2}, []int64{me + 1}, false)
		return errors.Join(err1, err2, f.WriteDarray(ctx, 0, ints, []int32{7}, []int32{int32(me)}), f.WriteDarray(ctx, 1, floats, []float32{7}, []float32{1e30}), f.Close(ctx))
	})
}
