package pio

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestRenameInDataMode: in data mode names may become shorter, but not longer, as in netCDF. Data written before and after a
// renaming stay.
func TestRenameInDataMode(t *testing.T) {
	dir := t.TempDir()
	together(t, 2, func(ctx context.Context, s *System) error {
		for form := range Canonical + 1 {
			path := filepath.Join(dir, form.String())
			f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Form, o.Buffer = form, -1 }))
			if err != nil {
				return err
			}
			err = errors.Join(f.PutAtt(Global, "unit", 4, []int32{1}), f.PutVars(ctx, 1, Part{Start: []int64{0, 0}, Count: []int64{1, 4}}, []int32{1, 2, 3, 4}),
				wants("longer variable", f.RenameVar(1, "record"), ENOTINDEFINE), wants("longer dimension", f.RenameDim(1, "times"), ENOTINDEFINE),
				wants("longer attribute", f.RenameAtt(Global, "unit", "units"), ENOTINDEFINE), wants("same", f.RenameVar(1, "rec"), ENAMEINUSE),
				f.RenameVar(1, "r"), f.RenameDim(1, "t"), f.RenameAtt(Global, "unit", "init"),
				f.PutVars(ctx, 1, Part{Start: []int64{1, 0}, Count: []int64{1, 4}}, []int32{5, 6, 7, 8}), f.Close(ctx))
			if err != nil {
				return fmt.Errorf("%v: %w", form, err)
			}
			if f, err = s.Open(ctx, path, nil); err != nil {
				return err
			}
			got := make([]int32, 8)
			v, err1 := f.VarID("r")
			_, err2 := f.DimID("t")
			_, err3 := f.Att(Global, "init")
			err = errors.Join(err1, err2, err3, f.GetVars(ctx, v, Part{}, got), wants("rename in a file for reading", f.RenameVar(0, "f"), EPERM),
				wants("enddef of a file for reading", f.EndDef(), ENOTINDEFINE), f.Close(ctx))
			if want := []int32{1, 2, 3, 4, 5, 6, 7, 8}; err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("%v: %v, want %v: %w", form, got, want, err)
			}
		}
		return nil
	})
}
