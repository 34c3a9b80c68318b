package vfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/trace"
	"blobio/internal/trace/tracetest"
)

const traceDir = "BLOBIO_TEST_TRACE_DIR"

// tracedProgram makes every kind of call on a file of the operating system. It runs in a process of its own, where BLOBIO_TRACE is set.
func tracedProgram(t *testing.T, dir string) {
	name := filepath.Join(dir, "a")
	f, err := OS.Create(name)
	ok(t, err)
	_, err = f.WriteAt([]byte("hello"), 3)
	ok(t, err)
	n, err := f.WritevAt([][]byte{[]byte("one"), nil, []byte("three")}, 100)
	if n != 8 {
		t.Errorf("%d bytes", n)
	}
	ok(t, err)
	ok(t, f.Allocate(0, 1<<12))
	ok(t, f.Sync())
	ok(t, f.Truncate(50))
	ok(t, f.Close())
	ok(t, OS.Rename(name, name+"2"))
	f, err = OS.Open(name + "2")
	ok(t, err)
	b := make([]byte, 10)
	_, err = f.ReadAt(b, 2)
	ok(t, err)
	_, err = f.ReadAt(b, 45) // five bytes and the end
	if err == nil {
		t.Error("read past the end")
	}
	ok(t, f.Close())
	ok(t, OS.Remove(name+"2"))
	if err := OS.Remove(name); err == nil {
		t.Error("removed again")
	}
}

// TestTrace: what a trace tells is what was done.
func TestTrace(t *testing.T) {
	if dir := os.Getenv(traceDir); dir != "" {
		tracedProgram(t, dir)
		return
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "trace")
	run := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTrace$")
		cmd.Env = append(os.Environ(), traceDir+"="+dir, trace.Variable+"="+file, "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	run()
	tr, err := tracetest.Read(file + ".3")
	ok(t, err)
	var got []string
	for _, c := range tr.Calls {
		if c.Rank != 3 {
			t.Errorf("rank %d", c.Rank)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(filepath.Base(c.File), " ", c.Op, " ", c.Segment, " ", c.Off, " ", c.N, " ", filepath.Base(c.To))))
	}
	vectored := []string{"a write 1 100 8 ."}
	if !vectoredWrites {
		vectored = []string{"a write 1 100 3 .", "a write 2 103 5 ."}
	}
	want := append([]string{"a open 0 -1 -1 .", "a write 0 3 5 ."}, vectored...)
	want = append(want, "a alloc 0 0 4096 .", "a sync 0 -1 -1 .", "a trunc 0 50 -1 .", "a close 0 -1 -1 .", "a rename 0 -1 -1 a2",
		"a2 open 0 -1 -1 .", "a2 read 0 2 10 .", "a2 read 1 45 5 .", "a2 close 0 -1 -1 .", "a2 remove 0 -1 -1 .")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	before, err := os.ReadFile(file + ".3")
	ok(t, err)
	if out := run(); !strings.Contains(out, "blobio: BLOBIO_TRACE: open "+file+".3: ") || !strings.Contains(out, "; this process is not traced") {
		t.Errorf("a second run says\n%s", out)
	}
	after, err := os.ReadFile(file + ".3")
	ok(t, err)
	if string(before) != string(after) {
		t.Error("the trace of the first run is changed")
	}
}
