//go:build linux

// Package callstest interposes the C library of a program, as Darshan does, and reports the file calls of the program. The
// package is for tests and needs gcc.
package callstest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

//go:embed testdata/interpose.c
var source []byte

// A Call is a successful call that the interposer saw.
type Call struct {
	Kind   string // "open", "read", "write", "close", "sync", "truncate", "allocate", "map", "rename" (with the new name), "remove"
	Off, N int64
	Inode  uint64
	Name   string // absolute name
}

// An Interposer records the calls on the files below a directory.
type Interposer struct {
	library, log, under string
}

// New compiles an interposer. It returns an error if gcc is missing.
func New(t testing.TB, under string) (*Interposer, error) {
	t.Helper()
	dir := t.TempDir()
	under, err := filepath.EvalSymlinks(under)
	if err != nil {
		return nil, err
	}
	i := &Interposer{filepath.Join(dir, "interpose.so"), filepath.Join(dir, "log"), under}
	c := filepath.Join(dir, "interpose.c")
	if err := os.WriteFile(c, source, 0o666); err != nil {
		return nil, err
	}
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-shared", "-fPIC", "-o", i.library, c, "-ldl").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return i, nil
}

// Env returns the environment that loads the interposer into a program.
func (i *Interposer) Env() []string {
	return []string{"LD_PRELOAD=" + i.library, "INTERPOSE_LOG=" + i.log, "INTERPOSE_UNDER=" + i.under}
}

// Calls returns the calls of all processes so far.
func (i *Interposer) Calls(t testing.TB) (calls []Call, processes int) {
	t.Helper()
	logs, err := filepath.Glob(i.log + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var c Call
			if _, err := fmt.Sscan(line, &c.Kind, &c.Off, &c.N, &c.Inode); err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			c.Name = strings.TrimSuffix(strings.SplitN(line, " ", 5)[4], "\n")
			calls = append(calls, c)
		}
	}
	return calls, len(logs)
}

// Covers fails the test unless these calls wrote all bytes of a file that are not zero. The calls must also have opened and
// closed the file. Covers returns the number of bytes written and the number of write calls.
func Covers(t testing.TB, calls []Call, file string) (written int64, writes int) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	ino := info.Sys().(*syscall.Stat_t).Ino
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	var parts [][2]int64
	for _, c := range calls {
		if c.Inode == ino {
			seen[c.Kind]++
			if c.Kind == "write" {
				parts = append(parts, [2]int64{c.Off, c.Off + c.N})
			}
		}
	}
	slices.SortFunc(parts, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	at := int64(0)
	hole := func(to int64) {
		for ; at < min(to, int64(len(b))); at++ {
			if b[at] != 0 {
				t.Errorf("%s: the byte at %d was not written through the C library, which saw %v", file, at, seen)
				at = int64(len(b))
			}
		}
	}
	for _, p := range parts {
		hole(p[0])
		written += max(0, p[1]-max(at, p[0]))
		at = max(at, p[1])
	}
	hole(int64(len(b)))
	if seen["open"] == 0 || seen["close"] != seen["open"] || seen["write"] == 0 {
		t.Errorf("%s: the C library saw %v", file, seen)
	}
	return written, seen["write"]
}
