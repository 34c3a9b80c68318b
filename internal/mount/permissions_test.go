//go:build linux && !386 && !arm

package mount

import (
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
)

// TestPermissionsNow: permissions that change while a dataset is mounted are those of the file in the mount, of whoever has it open, too.
func TestPermissionsNow(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.nc"), 1, 1, blob.Options{})
	manifest := filepath.Join(dir, "a.nc.manifest")
	ok(t, os.Chmod(manifest, 0o644))
	at, _, _ := mountedAt(t, dir, nil)
	f, err := os.Open(filepath.Join(at, "a.nc"))
	ok(t, err)
	defer f.Close()
	ok(t, os.Chmod(manifest, 0o600))
	eventually(t, "the new permissions", func() bool {
		info, err := f.Stat()
		return err == nil && info.Mode().Perm() == 0o400
	})
}
