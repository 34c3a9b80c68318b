package kvtree_test

import (
	"os"
	"path/filepath"
	"testing"

	"blobio/scr/kvtree"

	"golang.org/x/sys/unix"
)

const locksHere = true

// TestKindsOfLocks: flock and fcntl do not see each other, so each has to be the one that was asked for.
func TestKindsOfLocks(t *testing.T) {
	for _, held := range []kvtree.LockKind{kvtree.Flock, kvtree.Fcntl} {
		name := filepath.Join(t.TempDir(), "f")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if held == kvtree.Flock {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		} else {
			err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		}
		if err != nil {
			t.Skipf("SKIPPED: no lock of kind %d here: %v", held, err)
		}
		for _, asked := range []kvtree.LockKind{kvtree.Flock, kvtree.Fcntl} {
			if got, err := kvtree.Locked(nil, name, asked); err != nil || got != (asked == held) {
				t.Errorf("kind %d is held: Locked of kind %d is %v, %v", held, asked, got, err)
			}
		}
		f.Close()
	}
}
