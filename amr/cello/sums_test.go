package cello

import (
	"context"
	"slices"
	"strings"
	"testing"

	"blobio/internal/amr/cellodir"
	"blobio/internal/base/vfs"
)

// TestVerifySums: with a manifest, Verify finds any changed byte of data, metadata or lists.
func TestVerifySums(t *testing.T) {
	_, mem := flat(t)
	if l := findings(mem, "good", nil); len(errorsOf(l)) > 0 {
		t.Fatal(l)
	}
	k, err := Open(context.Background(), "good", &OpenOptions{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	rec := k.recs[7]
	file := "good/" + k.files[rec.file].name
	data := rec.data[0].off
	k.Close()
	for _, c := range []struct {
		file string
		off  int64
		want string
	}{
		{file + ".h5", data + 5, "data sum to"},
		{file + ".h5", rec.addr + 40, "metadata: the first"},
		{file + ".block_list", 2, "the manifest says"},
		{"good/check.file_list", 14, "zz"},
		{"good/" + cellodir.Manifest, 100, "crc32"},
	} {
		bad := mem.CrashClone(vfs.CrashOptions{})
		f, err := bad.OpenRW(c.file)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		_, err = f.ReadAt(b, c.off)
		must(err)
		b[0] ^= 1
		_, err = f.WriteAt(b, c.off)
		must(err)
		must(f.Close())
		l := errorsOf(findings(bad, "good", nil))
		if len(l) == 0 {
			t.Errorf("%s byte %d: nothing found", c.file, c.off)
		}
		if c.want != "zz" && !slices.ContainsFunc(l, func(f Finding) bool { return strings.Contains(f.String(), c.want) }) {
			t.Errorf("%s byte %d: %v, want %q", c.file, c.off, l, c.want)
		}
	}
}
