package calls

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func fdOf(t testing.TB, f *File) int {
	t.Helper()
	c, err := f.SyscallConn()
	ok(t, err)
	var n uintptr
	ok(t, c.Control(func(fd uintptr) { n = fd }))
	return int(n)
}

func TestCalls(t *testing.T) {
	f, err := OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	ok(t, err)
	defer f.Close()
	fd := fdOf(t, f)
	bufs := [][]byte{bytes.Repeat([]byte("a"), 4095), []byte("bc"), bytes.Repeat([]byte("d"), 5000)}
	want := bytes.Join(bufs, nil)
	if n, err := Pwritev(fd, bufs, 3); n != len(want) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := Pwritev(fd, bufs, -1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a negative offset: %v", err)
	}
	if _, err := Pwritev(-1, bufs, 0); !errors.Is(err, syscall.EBADF) {
		t.Errorf("no file: %v", err)
	}
	ok(t, Fdatasync(fd))
	if err := Fdatasync(-1); !errors.Is(err, syscall.EBADF) {
		t.Errorf("no file: %v", err)
	}
	if err := Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 1<<16); err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Error(err)
	}
	if err := Fallocate(fd, 0, -1, 1); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a negative offset: %v", err)
	}
}

// TestForgotten: the garbage collector closes a file that nobody closed.
func TestForgotten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	fd := func() int {
		f, err := OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		ok(t, err)
		return fdOf(t, f)
	}()
	same := func() bool {
		to, _ := os.Readlink("/proc/self/fd/" + itoa(fd))
		return to == name
	}
	if !same() {
		t.Skip("no /proc")
	}
	for range 1000 {
		if runtime.GC(); !same() {
			return
		}
		runtime.Gosched()
	}
	t.Error("it is open")
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// BenchmarkCall reads or writes one byte of /dev/null with package os and with this package, to show the cost of the C library.
func BenchmarkCall(b *testing.B) {
	one := []byte{1}
	pair := [][]byte{one, one}
	f, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	ok(b, err)
	defer f.Close()
	g, err := OpenFile("/dev/null", os.O_RDWR, 0)
	ok(b, err)
	defer g.Close()
	fd := fdOf(b, g)
	for _, c := range []struct {
		name string
		call func() (int, error)
	}{
		{"write/os", func() (int, error) { return f.WriteAt(one, 0) }},
		{"write/calls", func() (int, error) { return g.WriteAt(one, 0) }},
		{"pwritev/unix", func() (int, error) { return unix.Pwritev(fd, pair, 0) }},
		{"pwritev/calls", func() (int, error) { return Pwritev(fd, pair, 0) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
