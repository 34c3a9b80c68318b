package vfs_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/internal/base/vfs"
)

// TestDelegation: a file that a network server has delegated to a client can be opened when the client has returned the
// delegation. In the test, a file lease of this process takes the place of the delegation.
func TestDelegation(t *testing.T) {
	name := filepath.Join(t.TempDir(), "d.nc.0000")
	if err := os.WriteFile(name, []byte("lent"), 0o666); err != nil {
		t.Fatal(err)
	}
	lent, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer lent.Close()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGIO)
	defer signal.Stop(asked)
	if _, err := unix.FcntlInt(lent.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		t.Skipf("no leases of files here: %v", err)
	}
	back := make(chan error, 1)
	go func() {
		<-asked
		_, err := unix.FcntlInt(lent.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		back <- err
	}()
	f, err := vfs.OS.OpenRW(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	select {
	case asked <- syscall.SIGIO: // where leases block no open, no signal is sent
	default:
	}
	if err := <-back; err != nil {
		t.Error(err)
	}
}
