package salvage

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// FuzzScan scans arbitrary trees as file map and as checksum record. The scan must not panic and must not list a missing
// file.
func FuzzScan(f *testing.F) {
	add := func(t *kvtree.Tree) {
		b, err := kvtree.Pack(t)
		must(f, err)
		f.Add(b)
	}
	m := cachedir.NewFilemap()
	m.Put(cachedir.MapFile{Name: "/c/a", Meta: record.Meta{Path: "/p/d", Name: "a", Size: 3, Ranks: 1, Complete: true, CRC: 0x352441c2, HasCRC: true}})
	add(m.Tree())
	add(sums{dataset: record.Dataset{ID: 1, Name: "a", Files: 1, Size: 3, Complete: true}, files: map[string]expect{"d/a": {3, 0x352441c2, true}}, meta: map[string]expect{"filemap_0": {size: 1}}}.tree())
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := kvtree.Unpack(b, nil)
		if err != nil {
			return
		}
		fsys := vfs.NewMem()
		d := prefixdir.Open(fsys, "/p")
		must(t, fsys.MkdirAll("/p/d"))
		must(t, d.Datasets.Create(1))
		must(t, vfs.WriteFile(fsys, "/p/d/a", []byte("abc")))
		for _, n := range []string{"filemap_0", "filemap_sums.0"} {
			must(t, kvtree.WriteFile(fsys, d.Datasets.Dir(1)+"/"+n, tree))
		}
		ctx := context.Background()
		if _, err := ScanDataset(ctx, Options{Prefix: d, ID: 1}, false); err != nil {
			t.Fatal(err)
		}
		res, err := Index(ctx, Options{Prefix: d, ID: 1, Dataset: record.Dataset{ID: 1, Name: "a", Files: 1, Size: 3, Complete: true}})
		if err != nil && !errors.Is(err, fault.ErrMissing) && !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrExist) && !errors.Is(err, ErrOutside) && !errors.Is(err, fault.ErrUsage) && !errors.Is(err, fs.ErrInvalid) {
			t.Fatal(err)
		}
		if err == nil {
			for _, list := range res.Files {
				for _, x := range list {
					if _, err := fsys.Stat("/p/" + x.Path); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}
