package cachedir

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

var must = testfiles.Must

func write(t testing.TB, fsys vfs.FS, name, data string) {
	t.Helper()
	must(t, fsys.MkdirAll(path.Dir(name)))
	must(t, vfs.WriteFile(fsys, name, []byte(data)))
}

// load copies a folder from disk into a file system.
func load(t testing.TB, fsys vfs.FS, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		write(t, fsys, path.Join(to, filepath.ToSlash(rel)), string(data))
		return err
	}))
}

const (
	control = "/nodelocal/user1/scr.1145655"
	catalog = control + "/" + CatalogName
)

// node loads a node's files, which SCR wrote, from the test vectors.
func node(t testing.TB, vector string, n int) (*vfs.Mem, vfs.FS) {
	m := vfs.NewMem()
	load(t, m, testfiles.Dir(t, "scr", vector, "nodes", fmt.Sprintf("node%d", n)), "/n")
	return m, vfs.NewBind(m, []vfs.Bind{{At: "/nodelocal", To: "/n"}})
}

func sameTree(t *testing.T, fsys vfs.FS, a, b string) {
	t.Helper()
	x, err := kvtree.ReadFile(fsys, a, nil)
	must(t, err)
	y, err := kvtree.ReadFile(fsys, b, nil)
	must(t, err)
	if !x.Equal(y) {
		t.Errorf("%s and %s differ", a, b)
	}
	if fmt.Sprint(x.At("FILE").Keys()) != fmt.Sprint(y.At("FILE").Keys()) {
		t.Errorf("%s and %s have another order", a, b)
	}
}

func meta(size int64) record.Meta {
	return record.Meta{Orig: "o", Path: "/p", Name: "o", Size: size, Ranks: 4, Complete: true}
}

// cached makes a dataset with two files of rank 3, one of them in a subfolder, and returns the dataset's folder.
func cached(t testing.TB, fsys vfs.FS) string {
	dir := "/c/scr.dataset.7"
	m := NewFilemap()
	write(t, fsys, dir+"/a", "aaaa")
	write(t, fsys, dir+"/3/b", "bb")
	m.Put(MapFile{dir + "/a", meta(4)})
	m.Put(MapFile{dir + "/3/b", meta(2)})
	must(t, fsys.MkdirAll(MetaDir(dir)))
	must(t, m.Write(fsys, FilemapName(dir, 3)))
	must(t, WriteState(fsys, dir, DataGroup, StateEncoded))
	for _, n := range []string{"reddesc.er.3.redset", "reddesc.er.3.xor.grp_1_of_1.mem_1_of_4.redset", "reddescmap.er.3.redsum", "reddesc.er.11.redset"} {
		write(t, fsys, MetaDir(dir)+"/"+n, n)
	}
	return dir
}
