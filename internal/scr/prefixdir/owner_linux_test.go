package prefixdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cadence"
)

// TestOwner checks that a prefix directory is not changed if another user owns it or may write to it. The path may be a
// symbolic link of the user.
func TestOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	must(t, os.Mkdir(dir, 0o700))
	link := filepath.Join(filepath.Dir(dir), "link")
	must(t, os.Symlink(dir, link))
	d := Open(vfs.OS, link)
	changes := func() []error {
		return []error{
			d.Create(), d.Datasets.Create(1), d.Datasets.WriteSummary(ckpt(1), true), d.Index.Update(t.Context(), func(*Index) error { return nil }),
			d.Halt.Update(t.Context(), func(*cadence.Halt) error { return nil }),
		}
	}
	expect := func(what string, ok bool) {
		t.Helper()
		for i, err := range changes() {
			if ok && err != nil || !ok && !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s, change %d: %v", what, i, err)
			}
		}
	}
	expect("own", true)
	for _, name := range []string{dir, filepath.Join(dir, MetaDir)} {
		for mode, shared := range map[fs.FileMode]bool{0o777: false, 0o777 | fs.ModeSticky: true, 0o770: true} {
			must(t, os.Chmod(name, mode))
			d.Shared = true
			expect(name+" "+mode.String()+", shared", shared)
			d.Shared = false
			if mode != 0o770 || os.Geteuid() != os.Getegid() {
				expect(name+" "+mode.String(), false)
				if err := d.CheckOwner(); strings.Contains(err.Error(), EnvShared) != shared {
					t.Errorf("the way out, if there is one: %v", err)
				}
			}
		}
		must(t, os.Chmod(name, 0o700))
		if os.Geteuid() == 0 {
			must(t, os.Chown(name, 2001, 2001))
			expect(name+" of another user", false)
			must(t, os.Chown(name, 0, 0))
		}
	}
	expect("own again", true)
}
