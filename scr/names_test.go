package scr

import (
	"errors"
	"testing"

	"blobio/comm"
	"blobio/internal/durable"
	"blobio/internal/scr/cachedir"
	"blobio/internal/vfs"
)

// TestNameOutlivesPower: when a file of the cache has its new name, and the map of the rank the old one no more, a power cut does not bring the old
// name back.
func TestNameOutlivesPower(t *testing.T) {
	mem := vfs.NewMem()
	wr := &writer{job: &job{c: comm.Self(), fs: vfs.NewBind(mem, nil)}}
	w := &writing{cachedSet: &cachedSet{Cached: cachedir.Cached{Path: "/cache/set"}, maps: cachedir.NewFilemap()}}
	f := cachedir.MapFile{Name: "/cache/set/x"}
	w.maps.Put(f)
	file := cachedir.FilemapName(w.Path, 0)
	err := errors.Join(
		durable.MkdirAll(mem, cachedir.MetaDir(w.Path), true),
		durable.Replace(mem, f.Name, []byte("x"), durable.ReplaceOptions{Sync: true, SyncDir: true}),
		w.maps.Write(wr.fs, file),
		wr.rename(w, f, true),
		w.maps.Write(wr.fs, file))
	must(t, err)
	after := mem.CrashClone(vfs.CrashOptions{})
	m, err := cachedir.ReadFilemap(after, file)
	if err != nil || m.Len() != 1 {
		t.Fatal(m, err)
	}
	for _, f := range m.Files() {
		if _, err := after.Stat(f.Name); err != nil {
			t.Error(err)
		}
	}
}
