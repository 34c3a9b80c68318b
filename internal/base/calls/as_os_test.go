//go:build linux && cgo && (mpi || libc)

package calls

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// file is the common interface of os.File and this package's File.
type file interface {
	ReadAt(b []byte, off int64) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	Truncate(n int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
	Close() error
	Name() string
	SyscallConn() (syscall.RawConn, error)
}

// said formats the results of a call, with the chain of its error.
func said(v any, err error) string {
	s := fmt.Sprint(v)
	for ; err != nil; err = errors.Unwrap(err) {
		s += fmt.Sprintf(" | %T %v", err, err)
	}
	return s
}

// TestAsPackageOS: every file operation, valid or not, gives the result of package os.
func TestAsPackageOS(t *testing.T) {
	type system struct {
		open   func(name string, flag int, perm fs.FileMode) (file, error)
		rename func(a, b string) error
		remove func(a string) error
	}
	run := func(s system) (out []string) {
		dir, err := os.MkdirTemp(t.TempDir(), "d")
		ok(t, err)
		say := func(v any, err error) {
			out = append(out, strings.ReplaceAll(said(v, err), dir, "DIR"))
		}
		at := func(name string) string { return filepath.Join(dir, name) }
		open := func(name string, flag int, perm fs.FileMode) file {
			f, err := s.open(name, flag, perm)
			if say("open", err); err != nil {
				return nil
			}
			return f
		}
		ok(t, os.Mkdir(at("dir"), 0o777))
		ok(t, os.Mkdir(at("empty"), 0o777))
		ok(t, os.WriteFile(at("dir/in"), nil, 0o666))
		ok(t, os.WriteFile(at("hello"), []byte("hello"), 0o640))
		ok(t, os.Symlink("hello", at("link")))
		ok(t, os.Symlink("loop", at("loop")))

		open(at("none"), os.O_RDONLY, 0)
		open("", os.O_RDONLY, 0)
		open(at("a\x00b"), os.O_RDONLY, 0)
		open(at(strings.Repeat("x", 300)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		open(at("hello"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		open(at("link"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		open(at("link"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		open(at("loop"), os.O_RDONLY, 0)
		open(at("hello/x"), os.O_RDONLY, 0)
		open(at("dir"), os.O_RDWR, 0)
		for _, perm := range []fs.FileMode{0o666, 0o600, 0o755 | fs.ModeSetuid | fs.ModeSticky, 0o640 | fs.ModeSetgid} {
			f := open(at("made"), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
			info, err := f.Stat()
			say(info.Mode(), err)
			say("close", f.Close())
			say("remove", s.remove(at("made")))
		}

		f := open(at("hello"), os.O_RDWR, 0)
		b := make([]byte, 10)
		for _, c := range [][2]int64{{0, 5}, {0, 10}, {3, 5}, {5, 1}, {9, 1}, {5, 0}, {-1, 1}, {-1, 0}, {1 << 62, 1}} {
			n, err := f.ReadAt(b[:c[1]], c[0])
			say(string(b[:n]), err)
		}
		for _, c := range [][2]int64{{7, 3}, {0, 0}, {-1, 2}, {-1, 0}, {1<<63 - 1, 1}} {
			n, err := f.WriteAt(b[:c[1]], c[0])
			say(n, err)
		}
		say("truncate", f.Truncate(-1))
		say("truncate", f.Truncate(8))
		say("sync", f.Sync())
		info, err := f.Stat()
		say(info.Size(), err)
		again, err := os.Stat(at("hello"))
		say(os.SameFile(info, again), err)
		say(info.Name(), nil)
		say(f.Name(), nil)
		c, err := f.SyscallConn()
		say("conn", err)
		fd := uintptr(0)
		say("control", c.Control(func(x uintptr) { fd = x }))
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFD, 0)
		say(flags&syscall.FD_CLOEXEC, fmt.Errorf("%w", errno))
		say("close", f.Close())
		say("close", f.Close())
		n, err := f.ReadAt(b, 0)
		say(n, err)
		n, err = f.WriteAt(b, 0)
		say(n, err)
		n, err = f.ReadAt(nil, 0)
		say(n, err)
		say("truncate", f.Truncate(1))
		say("sync", f.Sync())
		_, err = f.Stat()
		say("stat", err)

		f = open(at("hello"), os.O_RDONLY, 0)
		n, err = f.WriteAt(b, 0)
		say(n, err)
		say("truncate", f.Truncate(1))
		say("close", f.Close())
		f = open(at("dir"), os.O_RDONLY, 0)
		n, err = f.ReadAt(b, 0)
		say(n, err)
		say("sync", f.Sync())
		say("close", f.Close())
		if f = open("/dev/full", os.O_RDWR, 0); f != nil {
			n, err = f.WriteAt(b, 0)
			say(n, err)
			say("close", f.Close())
		}

		for _, c := range [][2]string{{"none", "x"}, {"hello", "dir"}, {"none", "dir"}, {"dir", "empty"}, {"dir", "dir/sub"}, {"hello", "hello/x"},
			{"hello", "none/x"}, {"dir", "hello"}, {"hello", "hello"}, {"link", "moved"}, {"a\x00", "b"}, {"hello", "b\x00"}, {"hello", strings.Repeat("x", 300)}, {"dir", "dir"}} {
			say(c[0]+" to "+c[1], s.rename(at(c[0]), at(c[1])))
		}
		say("", s.rename("", at("x")))
		for _, name := range []string{"none", "dir", "empty", "moved", "loop", "hello/x", "a\x00", "hello", "hello", strings.Repeat("x", 300)} {
			say(name, s.remove(at(name)))
		}
		say("", s.remove(""))
		left, err := os.ReadDir(dir)
		say(left, err)
		return out
	}
	want := run(system{func(name string, flag int, perm fs.FileMode) (file, error) { return os.OpenFile(name, flag, perm) }, os.Rename, os.Remove})
	got := run(system{func(name string, flag int, perm fs.FileMode) (file, error) { return OpenFile(name, flag, perm) }, Rename, Remove})
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("%d:\n%s\nwant\n%s", i, slices.Concat(got, []string{"nothing"})[i], slices.Concat(want, []string{"nothing"})[i])
		}
	}
	t.Logf("%d results are the same", len(want))
}
