package parfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"blobio/internal/base/vfs"
)

// TestLocksUnderSignals: signals reach the thread of a client at any time while it asks for a lock that the other client has; each request is answered.
// A client of GlusterFS does not answer a request that was interrupted.
func TestLocksUnderSignals(t *testing.T) {
	each(t, func(t *testing.T, s *system) {
		dir := s.folder(t)
		thread, stop := make(chan int, 1), make(chan struct{})
		rounds := make(chan error)
		go func() {
			runtime.LockOSThread()
			defer close(rounds)
			thread <- unix.Gettid()
			for range 40 {
				rounds <- lockTwice(filepath.Join(dir[0], "a"), filepath.Join(dir[1], "a"))
			}
		}()
		go func() {
			for id := <-thread; ; time.Sleep(50 * time.Microsecond) {
				select {
				case <-stop:
					return
				default:
					_ = unix.Tgkill(unix.Getpid(), id, unix.SIGURG)
				}
			}
		}()
		defer close(stop)
		for {
			select {
			case err, ok := <-rounds:
				if !ok {
					return
				}
				must(t, err)
			case <-time.After(time.Minute):
				t.Fatal("a lock is not answered")
			}
		}
	})
}

// lockTwice makes a file by its second name and locks it there, then by its first one, and removes it.
func lockTwice(first, second string) error {
	g, err := vfs.OS.Create(second)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := vfs.Lock(g, true); err != nil {
		return err
	}
	var f vfs.File
	if err := until(func() (err error) { f, err = vfs.OS.OpenRW(first); return err }); err != nil {
		return err
	}
	defer f.Close()
	if err := vfs.Lock(f, true); !errors.Is(err, vfs.ErrLocked) && !errors.Is(err, vfs.ErrStale) && !errors.Is(err, fs.ErrNotExist) { // the last two: it is the file of the round before
		return errors.Join(errors.New("a file that the other client has locked"), err)
	}
	return vfs.OS.Remove(second)
}
