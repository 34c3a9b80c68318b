package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"blobio/cdf5"
)

// TestClobber checks that a new file replaces an old one of any form, but not with NoClobber.
func TestClobber(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		for i, form := range []Form{Variable, Process, Canonical, Canonical, Variable, Canonical, Process} {
			n := int64(4 + i)
			o := with(func(o *FileOptions) { o.Form = form })
			f, err := begun(ctx, s, path, n, o)
			if err != nil {
				return err
			}
			if err := errors.Join(f.PutVars(ctx, 0, Part{}, slices.Repeat([]int32{int32(i)}, int(n))), f.Close(ctx)); err != nil {
				return err
			}
			o.NoClobber = true
			if _, err := s.Create(ctx, path, o); CodeOf(err) != EEXIST {
				return fmt.Errorf("no clobber: %v", err)
			}
			g, err := s.Open(ctx, path, nil)
			if err != nil {
				return err
			}
			got := make([]int32, n)
			if err := g.GetVars(ctx, 0, Part{}, got); err != nil || got[0] != int32(i) || g.opt.Form != form {
				return fmt.Errorf("%d: %v as %v: %w", i, got, g.opt.Form, err)
			}
			if err := g.Close(ctx); err != nil {
				return err
			}
		}
		return s.Delete(ctx, path)
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestClobberOpen checks that with NoClobber a file under the name of an open file of Create is EEXIST, also before a sync, and
// also by another path.
func TestClobberOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := errors.Join(os.Mkdir("real", 0o777), os.Symlink("real", "link")); err != nil {
		t.Fatal(err)
	}
	together(t, 2, func(ctx context.Context, s *System) error {
		o := with(func(o *FileOptions) { o.NoClobber = true })
		for _, names := range [][2]string{{"a.nc", filepath.Join(dir, "a.nc")}, {"real/b.nc", "./link/b.nc"}} {
			name, again := names[0], names[1]
			f, err := begun(ctx, s, name, 4, o)
			if err != nil {
				return err
			}
			_, err = s.Create(ctx, again, o)
			err = errors.Join(wants(again, err, EEXIST), f.Close(ctx), s.Delete(ctx, name), func() error {
				g, err := s.Create(ctx, again, o)
				return errors.Join(err, g.Close(ctx))
			}())
			if err != nil || len(s.begun) > 0 {
				return fmt.Errorf("%v: %w", s.begun, err)
			}
		}
		return nil
	})
}

// TestEarly checks that Create reports options that later calls cannot satisfy.
func TestEarly(t *testing.T) {
	dir := t.TempDir()
	together(t, 2, func(ctx context.Context, s *System) error {
		path := filepath.Join(dir, "busy")
		f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Buffer = -1 }))
		if err != nil {
			return err
		}
		if err := errors.Join(f.PutVars(ctx, 0, Part{}, []int32{1, 2, 3, 4}), f.PutVars(ctx, 1, Part{}, []int32{1, 2, 3, 4})); err != nil || f.tx.w == nil {
			return fmt.Errorf("no writer is open: %w", err)
		}
		if _, err := s.Create(ctx, path, nil); CodeOf(err) != Code(syscall.EBUSY) {
			return fmt.Errorf("create of what is written: %v", err)
		}
		if err := f.Close(ctx); err != nil {
			return err
		}
		if _, err := s.Create(ctx, filepath.Join(dir, "none", "file"), nil); CodeOf(err) != Code(syscall.ENOENT) {
			return fmt.Errorf("create in no directory: %v", err)
		}
		for _, v := range []cdf5.Version{cdf5.CDF1, cdf5.CDF2, cdf5.CDF5, 0} {
			f, err := begun(ctx, s, filepath.Join(dir, "old"), 4, with(func(o *FileOptions) { o.Form, o.Version, o.Auto = Canonical, v, true }))
			if err != nil {
				return err
			}
			want := map[cdf5.Version]Code{cdf5.CDF1: EBADTYPE, cdf5.CDF2: EBADTYPE}[v]
			_, err = f.DefVar("long", cdf5.Int64, nil)
			if aerr := f.PutAtt(Global, "long", cdf5.UByte, []uint8{1}); CodeOf(err) != want || CodeOf(aerr) != want {
				return fmt.Errorf("version %d: %v, %v", v, err, aerr)
			}
			if _, err := f.DefVar("a/b", cdf5.Int, nil); CodeOf(err) != EBADNAME {
				return fmt.Errorf("a wrong name: %v", err)
			}
			if err := f.Close(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestKept checks that an older file stays if the file that should replace it fails.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	together(t, 2, func(ctx context.Context, s *System) error {
		for _, form := range []Form{Variable, Process, Canonical} {
			path := filepath.Join(dir, form.String())
			f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Form = form }))
			if err != nil {
				return err
			}
			if err := errors.Join(f.PutVars(ctx, 0, Part{}, []int32{7, 7, 7, 7}), f.Close(ctx)); err != nil {
				return err
			}
			o := with(func(o *FileOptions) { o.Form, o.Version, o.Auto, o.Buffer = Canonical, cdf5.CDF1, true, -1 })
			if form == Canonical {
				o.Form = Variable
			}
			if f, err = begun(ctx, s, path, 4, o); err != nil {
				return err
			}
			err = f.PutVars(ctx, 1, Part{}, []int32{8, 8, 8, 8})
			if form == Canonical && f.tx.w == nil || f.PutAtt(Global, "a", cdf5.Int, []int32{int32(s.c.Rank())}) != nil { // the attribute differs between ranks
				return errors.New("nothing was written ahead")
			}
			if err != nil || f.Close(ctx) == nil {
				return fmt.Errorf("%v: a close of what is wrong: %v", form, err)
			}
			got := make([]int32, 4)
			if f, err = s.Open(ctx, path, nil); err != nil {
				return err
			}
			if err := errors.Join(f.GetVars(ctx, 0, Part{}, got), f.Close(ctx)); err != nil || got[3] != 7 {
				return fmt.Errorf("%v: %v: %v", form, got, err)
			}
		}
		return nil
	})
}

// TestRecordDimensionLater: a committed file without a record dimension can get one, with a record variable.
func TestRecordDimensionLater(t *testing.T) {
	dir := t.TempDir()
	together(t, 2, func(ctx context.Context, s *System) error {
		for form := range Canonical + 1 {
			path := filepath.Join(dir, form.String())
			f, err := s.Create(ctx, path, with(func(o *FileOptions) { o.Form = form }))
			if err != nil {
				return err
			}
			x, err1 := f.DefDim("x", 2)
			v, err2 := f.DefVar("fixed", cdf5.Int, []int{x})
			if err := errors.Join(err1, err2, f.EndDef(), f.PutVars(ctx, v, Part{}, []int32{1, 2}), f.Close(ctx)); err != nil {
				return err
			}
			if f, err = s.Open(ctx, path, forWriting); err != nil {
				return err
			}
			err0 := f.Redef()
			time, err1 := f.DefDim("time", Unlimited)
			w, err2 := f.DefVar("rec", cdf5.Int, []int{time, x})
			err = errors.Join(err0, err1, err2, f.EndDef(), f.PutVars(ctx, w, Part{Start: []int64{0, 0}, Count: []int64{1, 2}}, []int32{3, 4}), f.Close(ctx))
			if err != nil {
				return fmt.Errorf("%v: %w", form, err)
			}
			if f, err = s.Open(ctx, path, nil); err != nil {
				return err
			}
			got := make([]int32, 4)
			err = errors.Join(f.GetVars(ctx, v, Part{}, got[:2]), f.GetVars(ctx, w, Part{}, got[2:]), f.Close(ctx))
			if want := []int32{1, 2, 3, 4}; err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("%v: %v, want %v: %w", form, got, want, err)
			}
		}
		return nil
	})
}
