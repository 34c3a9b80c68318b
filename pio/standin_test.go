package pio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/subfile"
)

// exists reports whether a program that asks for a file finds it.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestStandIn checks that blobs, like a netCDF file, have a file of their name from the first commit until they are deleted, and
// that this file neither hides them nor remains.
func TestStandIn(t *testing.T) {
	for _, form := range []Form{Variable, Process} {
		dir := t.TempDir()
		path, o := filepath.Join(dir, "a.nc"), with(func(o *FileOptions) { o.Form = form })
		write := func(ctx context.Context, s *System, x int32) error {
			f, err := begun(ctx, s, path, 2, o)
			if err != nil {
				return err
			}
			return errors.Join(f.PutVars(ctx, 0, Part{}, []int32{x, x}), f.Close(ctx))
		}
		together(t, 2, func(ctx context.Context, s *System) error {
			f, err := begun(ctx, s, path, 2, o)
			if err != nil {
				return err
			}
			if err := errors.Join(f.PutVars(ctx, 0, Part{}, []int32{1, 1}), s.c.Barrier(ctx)); err != nil {
				return err
			}
			if exists(path) {
				return errors.New("the file exists before the first commit")
			}
			if err := errors.Join(s.c.Barrier(ctx), f.Close(ctx)); err != nil {
				return err
			}
			if !exists(path) {
				return errors.New("no file after the commit")
			}
			if err := write(ctx, s, 2); err != nil { // a link exists
				return err
			}
			r, err := s.Open(ctx, path, forWriting)
			if err != nil {
				return err
			}
			got := []int32{0, 0}
			err = errors.Join(r.GetVars(ctx, 0, Part{}, got), r.PutVars(ctx, 0, Part{}, []int32{3, 3}), r.Close(ctx)) // rewrites the file
			if err != nil || !slices.Equal(got, []int32{2, 2}) || !exists(path) {
				return fmt.Errorf("%v, exists %v: %w", got, exists(path), err)
			}
			return nil
		})

		// Programs that copy files make a file of the link.
		copied := filepath.Join(t.TempDir(), "a.nc")
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(filepath.Dir(copied), filepath.Base(name)), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{path, copied} {
			if list, err := subfile.ListAll(nil, filepath.Dir(name)); err != nil || len(list) != 1 || list[0].Single {
				t.Errorf("%v: listed %d, %v", form, len(list), err)
			}
			r, err := blob.Open(t.Context(), name, nil)
			if err != nil {
				t.Fatalf("%v: %s: %v", form, name, err)
			}
			if r.Form().Layout == blob.Canonical || r.Base() != name {
				t.Errorf("%v: %s opened as %v", form, r.Base(), r.Form())
			}
			r.Close()
			together(t, 2, func(ctx context.Context, s *System) error { return s.Delete(ctx, name) })
			if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) > 0 {
				t.Errorf("%v: left: %v, %v", form, left, err)
			}
		}
	}
}

// TestStandInOfNothing checks that no link stays if nothing is committed, and that neither a file nor a link of another program
// counts as a stand-in.
func TestStandInOfNothing(t *testing.T) {
	dir := t.TempDir()
	path, sub := filepath.Join(dir, "a.nc"), filepath.Join(dir, "a.nc.manifest.next") // a folder is in the way
	if err := os.Mkdir(sub, 0o777); err != nil {
		t.Fatal(err)
	}
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 2, &quick)
		if err != nil {
			return err
		}
		if err := errors.Join(f.PutVars(ctx, 0, Part{}, []int32{1, 1}), f.Close(ctx)); err == nil {
			return errors.New("no error")
		}
		return nil
	})
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		left, _ := os.ReadDir(dir)
		t.Errorf("a link to nothing stays: %v, %v", left, err)
	}
	if err := os.Remove(sub); err != nil {
		t.Fatal(err)
	}
	write := func() {
		together(t, 2, func(ctx context.Context, s *System) error {
			f, err := begun(ctx, s, path, 2, &quick)
			if err != nil {
				return err
			}
			return errors.Join(f.PutVars(ctx, 0, Part{}, []int32{1, 1}), f.Close(ctx))
		})
	}
	write()
	other := filepath.Join(dir, "other")
	for _, plant := range []func() error{
		func() error { return os.WriteFile(path, []byte("CDF\x05"), 0o666) },
		func() error { return os.Symlink(other, path) },
	} {
		if err := errors.Join(os.Remove(path), os.WriteFile(other, []byte("CDF\x05"), 0o666), plant()); err != nil {
			t.Fatal(err)
		}
		if set, err := subfile.Find(nil, path); err != nil || !set.Single {
			t.Errorf("found %v, %v", set, err)
		}
		write() // the new file replaces file and link
		if b, err := os.ReadFile(other); err != nil || string(b) != "CDF\x05" {
			t.Errorf("the target of the link is now %q, %v", b, err)
		}
		if set, err := subfile.Find(nil, path); err != nil || set.Single {
			t.Errorf("found %v, %v", set, err)
		}
	}
}

// TestStandInOfDeadWriter checks that a model that finds no file, and therefore creates one with NoClobber, can write under the
// name of a writer that died before its first commit or within it, but not of one that is alive.
func TestStandInOfDeadWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	o := with(func(o *FileOptions) { o.NoClobber = true })
	write := func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 2, o)
		if err != nil {
			return err
		}
		return errors.Join(f.PutVars(ctx, 0, Part{}, []int32{1, 1}), f.Close(ctx))
	}
	if err := errors.Join(os.Symlink("a.nc.manifest", path), os.WriteFile(path+".0000.w1a2b3c4d.partial", []byte("CDF\x05"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, die := range []func() error{
		func() error { return nil }, // before the commit
		func() error { return os.Rename(path+".manifest", path+".manifest.next") }, // within the commit
	} {
		if err := die(); err != nil || exists(path) {
			t.Fatalf("exists %v, %v", exists(path), err)
		}
		together(t, 2, write)
		if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 3 || !exists(path) {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	together(t, 2, func(ctx context.Context, s *System) error {
		if err := s.Delete(ctx, path); err != nil {
			return err
		}
		schema := blob.NewSchema()
		schema.Var("x", cdf5.Int, []blob.DimID{schema.Dim("n", 2)})
		w, err := blob.Create(ctx, s.c, path, schema, nil, &blob.Options{Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		defer w.Abort()
		if err := write(ctx, s); !errors.Is(err, blob.ErrInUse) {
			return fmt.Errorf("over a writer that is alive: %v", err)
		}
		return nil
	})
}
