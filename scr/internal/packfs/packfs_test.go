package packfs

import (
	"path"
	"testing"

	"blobio/internal/durable"
	"blobio/internal/scr/cachedir"
	"blobio/internal/vfs"
)

// TestPackTemp: a file of a packed dataset is where its name says, though it was written under a temporary one; what a killed run left on the
// disk can be removed.
func TestPackTemp(t *testing.T) {
	const dir = "/n/scr.dataset.1"
	meta := cachedir.MetaDir(dir)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	disk := vfs.NewMem()
	must(disk.MkdirAll(meta))
	left, err := durable.CreateTemp(disk, path.Join(meta, "filemap_0"), durable.TempOptions{})
	must(err)
	must(left.Finish())
	p := New(disk)
	p.Add(dir)
	for base, onDisk := range map[string]bool{"filemap_0": false, "reddesc.er.0.redsum": false, "reddesc.er.0.xor.grp_1_of_1.mem_1_of_2.redset": true} {
		name := path.Join(meta, base)
		must(durable.Replace(p, name, []byte(base), durable.ReplaceOptions{Owner: "test"}))
		if b, err := vfs.ReadFile(p, name, 100); err != nil || string(b) != base {
			t.Errorf("%s: %q, %v", base, b, err)
		}
		if _, err := disk.Stat(name); (err == nil) != onDisk {
			t.Errorf("%s on the disk: %v, want %v", base, err == nil, onDisk)
		}
	}
	must(p.Remove(left.Name()))
	if list, err := disk.ReadDir(meta); err != nil || len(list) != 1 || len(p.temps) != 0 {
		t.Errorf("left: %v, %v, %v", list, p.temps, err)
	}
}
