//go:build linux

package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"blobio/blob"
)

// few limits this process to n more file descriptors until more is called.
func few(t *testing.T, n int) (more func()) {
	t.Helper()
	f, err := os.Open(os.DevNull)
	ok(t, err)
	lowest := f.Fd()
	ok(t, f.Close())
	var was syscall.Rlimit
	ok(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(lowest) + uint64(n), Max: was.Max}))
	return func() { ok(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }
}

// TestUnreadable checks that a dataset whose files cannot be opened temporarily does not disappear. Requests for the dataset
// and for the list get an error. When files can be opened again, the dataset is shown again. This holds with a manifest and for
// datasets of other programs.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	write(t, filepath.Join(root, "foreign.nc"), 1, 1, blob.Options{})
	ok(t, os.Remove(filepath.Join(root, "foreign.nc.manifest")))
	ok(t, os.Mkdir(filepath.Join(root, "sub"), 0o777))
	write(t, filepath.Join(root, "sub", "b.nc"), 1, 1, blob.Options{})
	tr := open(t, root, nil)

	more := few(t, 0)
	for _, name := range []string{"a.nc", "foreign.nc"} {
		if _, err := tr.Lookup(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want the error of opening its files", name, err)
		}
		if _, err := tr.Dataset(t.Context(), name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want the error of opening its files", name, err)
		}
	}
	more()
	more = few(t, 1) // enough for the directory, but not its files
	list, err := listed(tr, "sub")
	more()
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("%+v, %v: want the error of opening its files", list, err)
	}

	for _, name := range []string{"a.nc", "foreign.nc", "sub/b.nc"} {
		if e, err := tr.Lookup(name); err != nil || e.Err != nil || e.Kind != KindDataset {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// TestNoManifests checks that a directory, a pipe or a link out of the root with the name of a manifest makes no dataset and
// hides no files.
func TestNoManifests(t *testing.T) {
	root := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(root, "d.nc.manifest"), 0o777))
	ok(t, syscall.Mkfifo(filepath.Join(root, "p.nc.manifest"), 0o666))
	ok(t, os.Symlink("/etc/passwd", filepath.Join(root, "l.nc.manifest")))
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	tr := open(t, root, nil)
	list, err := tr.Names("")
	if err != nil || len(list) != 2 || list[0].Name != "a.nc" || list[1].Name != "d.nc.manifest" || list[1].Kind != KindDir {
		t.Errorf("%+v, %v", list, err)
	}
	for _, name := range []string{"d.nc", "p.nc", "l.nc"} {
		if e, err := tr.Lookup(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// TestDeniedUnseen checks that a temporarily inaccessible subfile is denied, and that a subfile that all users may read is not
// denied.
func TestDeniedUnseen(t *testing.T) {
	root := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(root, "sub"), 0o777))
	write(t, filepath.Join(root, "sub", "b.nc"), 1, 1, blob.Options{})
	ok(t, os.Chmod(filepath.Join(root, "sub", "b.nc.0000"), 0o644))
	d, err := open(t, root, nil).Dataset(t.Context(), "sub/b.nc")
	ok(t, err)
	defer d.Release()
	more := few(t, 0)
	denied := d.Denied(54321, nil)
	more()
	if denied == "" {
		t.Error("what could not be looked at is not denied")
	}
	if denied = d.Denied(54321, nil); denied != "" {
		t.Errorf("%s is denied", denied)
	}
}
