package salvage

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
)

// The path of the prefix directory may contain a link while the recorded path of the file does
// not, or vice versa.
func TestPrefixOverLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(top, "disk", "sim"), filepath.Join(top, "p")
	for _, err := range []error{os.MkdirAll(filepath.Join(real, ".scr"), 0o777), os.Symlink(filepath.Join(top, "disk"), link), os.Mkdir(filepath.Join(top, "else"), 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	over := filepath.Join(link, "sim")
	for _, c := range []struct{ prefix, was, path, want string }{
		{over, "", filepath.Join(real, "ckpt.4"), "ckpt.4/f"}, // neither folder nor file exists yet
		{real, "", filepath.Join(over, "ckpt.4"), "ckpt.4/f"},
		{over, "", over, "f"},
		{over, "", real, "f"},
		{over, "", filepath.Join(top, "else"), ""},
		{over, "", filepath.Join(real, ".scr"), ""},
		{over, over, filepath.Join(real, "ckpt.4"), ""}, // Was is the old path
	} {
		p, err := newTarget(prefixdir.Open(vfs.OS, c.prefix), c.was, 4)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := p.relative(record.Meta{Path: filepath.ToSlash(c.path), Name: "f"})
		if rel != c.want || (c.want == "") != errors.Is(err, ErrOutside) {
			t.Errorf("%+v: %q, %v", c, rel, err)
		}
		if c.want != "" && !p.inPlace(filepath.ToSlash(filepath.Join(c.path, "f")), rel) {
			t.Errorf("%+v: with bypass it is not in its place", c)
		}
		if p.inPlace("/dev/shm/u/scr.1/scr.dataset.4/f", "f") {
			t.Error("a file of the cache is in its place")
		}
	}
}
