package crashtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"blobio/internal/base/vfs"
)

// Places are names of one directory, as several clients of a parallel file system see it. The variable BLOBIO_TEST_PLACES lists
// the names, separated as in PATH. One name is enough. Tests that support Places run there, in their own directories. nil: tests
// run in memory or in a temporary directory.
func Places() []string {
	if list := filepath.SplitList(os.Getenv("BLOBIO_TEST_PLACES")); len(list) > 0 {
		return list
	}
	return nil
}

// Fresh makes a directory in the last place and returns its name in each place.
func Fresh(places []string) ([]string, error) {
	made, err := os.MkdirTemp(places[len(places)-1], "t")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range places {
		names = append(names, filepath.Join(p, filepath.Base(made)))
	}
	return names, nil
}

// FreshDir is Fresh in Places for a test, which removes the directory. Without places it is a temporary directory.
func FreshDir(t testing.TB) []string {
	t.Helper()
	places := Places()
	if len(places) == 0 {
		return []string{t.TempDir()}
	}
	dirs, err := Fresh(places)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			if err := os.RemoveAll(dirs[0]); err != nil {
				t.Error(err)
			}
		}
	})
	return dirs
}

// at returns the operating system's file system with dir as the working directory.
func at(dir string) vfs.FS { return vfs.NewBind(vfs.OS, []vfs.Bind{{At: ".", To: dir}}) }

// fill copies all files and directories of m to fsys.
func fill(fsys vfs.FS, m *vfs.Mem, dir string) error {
	list, err := m.ReadDir(dir)
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		if e.IsDir() {
			if err = fsys.Mkdir(name); err == nil {
				err = fill(fsys, m, name)
			}
		} else {
			var info fs.FileInfo
			var b []byte
			if info, err = e.Info(); err == nil {
				if b, err = vfs.ReadFile(m, name, info.Size()); err == nil {
					err = vfs.WriteFile(fsys, name, b)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return err
}
