package blob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestNamesAreNotShared checks that an ordinary file and a dataset of subfiles cannot have the same name.
func TestNamesAreNotShared(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	toy := newToy(1)
	base := filepath.Join(dir, "a.nc")
	noError(t, toy.write(ctx, comm.Self(), base, 1, new(dataset.Settings)))
	r := opened(t, vfs.OS, base, nil)
	for _, force := range []bool{false, true} {
		if err := convert.Convert(ctx, r, base, &convert.ConvertOptions{Force: force}); !errors.Is(err, dataset.ErrExist) {
			t.Errorf("canonical file over subfiles, force %v: %v", force, err)
		}
		if err := convert.Convert(ctx, r, dir, &convert.ConvertOptions{Force: force}); !errors.Is(err, dataset.ErrExist) {
			t.Errorf("canonical file over a directory, force %v: %v", force, err)
		}
		if err := convert.Convert(ctx, r, filepath.Join(dir, "c.nc.0000"), &convert.ConvertOptions{Force: force}); !errors.Is(err, dataset.ErrUsage) {
			t.Errorf("canonical file under the name of a subfile, force %v: %v", force, err)
		}
		for _, same := range []string{base, dir + "/./a.nc"} {
			if err := convert.Convert(ctx, r, same, &convert.ConvertOptions{Blobs: true, Force: force}); !errors.Is(err, dataset.ErrUsage) {
				t.Errorf("subfiles over those that are converted, force %v: %v", force, err)
			}
		}
	}
	plain := filepath.Join(dir, "b.nc")
	noError(t, os.WriteFile(plain, []byte("x"), 0o666))
	for _, name := range []string{plain, dir} {
		for _, force := range []bool{false, true} {
			if err := toy.write(ctx, comm.Self(), name, 1, &dataset.Settings{Options: dataset.Options{Force: force}}); !errors.Is(err, dataset.ErrExist) {
				t.Errorf("subfiles of %s, force %v: %v", name, force, err)
			}
		}
	}
	// Opening this name would read the subfile's dataset.
	if err := toy.write(ctx, comm.Self(), base+".0007", 1, new(dataset.Settings)); !errors.Is(err, dataset.ErrExist) {
		t.Errorf("the name of a subfile that is not there: %v, want ErrExist", err)
	}
	// JSON cannot hold the names of the subfiles.
	if err := toy.write(ctx, comm.Self(), filepath.Join(dir, "bad\xff.nc"), 1, new(dataset.Settings)); !errors.Is(err, dataset.ErrUsage) {
		t.Errorf("a name that is no UTF-8: %v", err)
	}
	toy.check(t, base, 1)
	entries, _ := os.ReadDir(dir)
	if len(entries) != 3 { // a.nc.0000, a.nc.manifest, b.nc
		t.Errorf("left behind: %v", entries)
	}
}
