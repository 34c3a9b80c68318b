package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"blobio/internal/subfile"
)

// record writes a record of a file from begun.
func record(ctx context.Context, f *File, rec int64, x int32) error {
	return f.PutVars(ctx, 1, Part{Start: []int64{rec, 0}, Count: []int64{1, 4}}, []int32{x, x, x, x})
}

// fixed writes the fixed variable.
func fixed(ctx context.Context, f *File, x int32) error {
	return f.PutVars(ctx, 0, Part{}, []int32{x, x, x, x})
}

// TestOtherWriter checks that neither an append nor a new file replaces a later commit of another handle; each call is an error.
func TestOtherWriter(t *testing.T) {
	for _, form := range []Form{Variable, Process, Canonical} {
		for name, change := range map[string]func(ctx context.Context, f *File) error{
			"record": func(ctx context.Context, f *File) error { return record(ctx, f, 1, 7) },
			"fixed":  func(ctx context.Context, f *File) error { return fixed(ctx, f, 7) },
			"attribute": func(_ context.Context, f *File) error {
				return errors.Join(f.Redef(), f.PutAtt(Global, "a", 4, []int32{7}), f.EndDef())
			},
		} {
			path := filepath.Join(t.TempDir(), "a.nc")
			together(t, 2, func(ctx context.Context, s *System) error {
				f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Form = form }))
				if err != nil {
					return err
				}
				if err := errors.Join(fixed(ctx, f, 1), record(ctx, f, 0, 1), f.Close(ctx)); err != nil {
					return err
				}
				f, err1 := s.Open(ctx, path, forWriting)
				g, err2 := s.Open(ctx, path, forWriting)
				h, err3 := s.Open(ctx, path, forWriting)
				if err := errors.Join(err1, err2, err3, change(ctx, f), f.Close(ctx)); err != nil {
					return err
				}
				if err := errors.Join(fixed(ctx, g, 8), record(ctx, h, 1, 8)); err != nil {
					return err
				}
				return errors.Join(
					wants("sync anew", g.Sync(ctx), Code(syscall.ESTALE)), wants("close anew", g.Close(ctx), Code(syscall.ESTALE)),
					wants("sync of a record", h.Sync(ctx), Code(syscall.ESTALE)), wants("close of a record", h.Close(ctx), Code(syscall.ESTALE)))
			})
			together(t, 1, func(ctx context.Context, s *System) error {
				f, err := s.Open(ctx, path, nil)
				if err != nil {
					return err
				}
				got, a := make([]int32, 4*f.records), []int32{0}
				switch name {
				case "record":
					err = f.GetVars(ctx, 1, Part{}, got)
				case "fixed":
					err = f.GetVars(ctx, 0, Part{}, got)
				case "attribute":
					err = f.GetAtt(Global, "a", a)
					got = a
				}
				if err != nil || got[len(got)-1] != 7 {
					return fmt.Errorf("%v: %s: %v, %w", form, name, got, err)
				}
				return f.Close(ctx)
			})
		}
	}
}

// TestOtherConverts checks that an ordinary file stays if it changes after its replacement began. The error names the synced
// blobs.
func TestOtherConverts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Form = Canonical }))
		if err := errors.Join(err, fixed(ctx, f, 1), f.Close(ctx)); err != nil {
			return err
		}
		f, err1 := s.Open(ctx, path, forWriting)
		g, err2 := s.Open(ctx, path, forWriting)
		if err := errors.Join(err1, err2, fixed(ctx, g, 8), g.Sync(ctx), fixed(ctx, f, 7), f.Close(ctx)); err != nil {
			return err
		}
		err = g.Close(ctx)
		if err := wants("close", err, Code(syscall.ESTALE)); err != nil || !strings.Contains(g.Close(ctx).Error(), "not open") {
			return err
		}
		return errors.Join(holds(ctx, s, path, 7), holds(ctx, s, named(err), 8))
	})
}

// named returns the name of the blobs in an error of Close.
func named(err error) string {
	_, name, _ := strings.Cut(err.Error(), "the synced data are in the blobs ")
	name, _, _ = strings.Cut(name, ")")
	return name
}

// holds returns an error unless the fixed variable of a file is x.
func holds(ctx context.Context, s *System, path string, x int32) error {
	f, err := s.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	got := make([]int32, 4)
	if err := f.GetVars(ctx, 0, Part{}, got); err != nil || !slices.Equal(got, []int32{x, x, x, x}) {
		return fmt.Errorf("%s: %v, want %d, %w", path, got, x, err)
	}
	return f.Close(ctx)
}

// TestTwoCanonical checks that two handles for the same ordinary file do not see each other's syncs.
func TestTwoCanonical(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		o := with(func(o *FileOptions) { o.Form = Canonical })
		f, err1 := begun(ctx, s, path, 4, o)
		g, err2 := begun(ctx, s, path, 4, o)
		if err := errors.Join(err1, err2, fixed(ctx, f, 7), f.Sync(ctx), fixed(ctx, g, 8), g.Sync(ctx)); err != nil {
			return err
		}
		got := make([]int32, 4)
		if err := f.GetVars(ctx, 0, Part{}, got); err != nil || got[0] != 7 {
			return fmt.Errorf("%v, want 7: %w", got, err)
		}
		return errors.Join(g.Close(ctx), holds(ctx, s, path, 8), f.Close(ctx), holds(ctx, s, path, 7))
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestBrokenCanonical checks that if data are lost after a sync, the error of Close names the synced blobs.
func TestBrokenCanonical(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Form = Canonical }))
		if err := errors.Join(err, fixed(ctx, f, 7), f.Sync(ctx)); err != nil {
			return err
		}
		f.ranks.broken = failed(ENOMEM, "data are lost")
		err = f.Close(ctx)
		return errors.Join(wants("close", err, ENOMEM), holds(ctx, s, named(err), 7))
	})
}

// TestNoManifest checks that blobs of another program, without a manifest, can be appended to and rewritten.
func TestNoManifest(t *testing.T) {
	for _, form := range []Form{Variable, Process} {
		path := filepath.Join(t.TempDir(), "a.nc")
		together(t, 2, func(ctx context.Context, s *System) error {
			for i := range int32(2) {
				f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.Form = form }))
				if err := errors.Join(err, fixed(ctx, f, 1), record(ctx, f, 0, 1), f.Close(ctx)); err != nil {
					return err
				}
				if s.c.Rank() == 0 {
					err = os.Remove(subfile.ManifestName(path))
				}
				if err := errors.Join(err, s.c.Barrier(ctx)); err != nil {
					return err
				}
				f, err = s.Open(ctx, path, forWriting)
				if err != nil {
					return err
				}
				if i > 0 {
					err = fixed(ctx, f, i)
				}
				if err := errors.Join(err, record(ctx, f, 1, 1), f.Sync(ctx), record(ctx, f, 2, 1), f.Close(ctx), holds(ctx, s, path, 1)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// TestOtherRoot checks that a root other than rank 0 finds the committed state, with attributes that an append has set.
func TestOtherRoot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		s, err := NewSystem(ctx, s.c, &SystemOptions{Base: 2})
		if err != nil {
			return err
		}
		f, err := begun(ctx, s, path, 4, &quick)
		if err := errors.Join(err, record(ctx, f, 0, 1), f.Close(ctx)); err != nil {
			return err
		}
		for i := range int32(3) {
			f, err := s.Open(ctx, path, forWriting)
			if err != nil {
				return err
			}
			if err := errors.Join(f.Redef(), f.PutAtt(Global, "a", 4, []int32{i}), f.EndDef(), f.Sync(ctx), fixed(ctx, f, i), f.Close(ctx)); err != nil {
				return err
			}
		}
		return holds(ctx, s, path, 2)
	})
}
