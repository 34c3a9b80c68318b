package subfile

import (
	"fmt"
	"io/fs"
	"testing"

	"blobio/internal/base/vfs"
)

// named counts how often the names in directory listings are read.
type named struct {
	vfs.FS
	n *int
}

type namedEntry struct {
	fs.DirEntry
	n *int
}

func (e namedEntry) Name() string { *e.n++; return e.DirEntry.Name() }

func (f named) ReadDir(name string) ([]fs.DirEntry, error) {
	l, err := f.FS.ReadDir(name)
	for i := range l {
		l[i] = namedEntry{l[i], f.n}
	}
	return l, err
}

// TestManyDatasets: Find in a directory of many datasets reads few of the names, and List reads each a few times.
func TestManyDatasets(t *testing.T) {
	const many = 1000
	m, n := vfs.NewMem(), 0
	for i := range many {
		for _, name := range []string{Name(fmt.Sprintf("c%04d.nc", i), 0), Name(fmt.Sprintf("c%04d.nc", i), 1), ManifestName(fmt.Sprintf("c%04d.nc", i))} {
			f, err := m.Create(name)
			if err == nil {
				err = f.Close()
			}
			must(t, err)
		}
	}
	s, err := Find(named{m, &n}, "c0500.nc")
	if err != nil || len(s.Members) != 2 || !s.Manifest || n > 100 {
		t.Errorf("%+v, %v after %d looks", s, err, n)
	}
	n = 0
	list, err := List(named{m, &n}, ".")
	if err != nil || len(list) != many || len(list[7].Members) != 2 || n > 100*many {
		t.Errorf("%d datasets, %v after %d looks", len(list), err, n)
	}
}
