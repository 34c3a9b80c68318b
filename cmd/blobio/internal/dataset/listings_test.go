package dataset

import (
	"os"
	"testing"
	"time"

	"blobio/internal/base/vfs"
)

// TestListings checks that an unchanged directory is listed once. A directory that changed, or may have changed, is listed
// again.
func TestListings(t *testing.T) {
	dir, lists := t.TempDir(), 0
	l := &listings{FS: vfs.NewFault(vfs.OS, func(op vfs.Op) error {
		if op.Kind == vfs.OpReadDir {
			lists++
		}
		return nil
	})}
	look := func(when string, age time.Duration, files, want int) {
		t.Helper()
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if e, err := l.ReadDir(dir); len(e) != files || err != nil {
				t.Errorf("%s: %d names, want %d: %v", when, len(e), files, err)
			}
		}
		if lists != want {
			t.Errorf("%s: listed %d times, want %d", when, lists, want)
		}
	}
	look("old", time.Hour, 0, 1)
	if err := os.WriteFile(dir+"/f", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	look("changed", time.Minute, 1, 2)
	look("just now", -time.Hour, 1, 5)
}
