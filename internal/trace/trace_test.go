package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"blobio/internal/trace/tracetest"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made returns a new log and the name of its file.
func made(t *testing.T) (*log, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "t.dxt")
	for _, v := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK"} {
		t.Setenv(v, "")
	}
	l, err := newLog(name)
	ok(t, err)
	t.Cleanup(func() { l.f.Close() })
	return l, name
}

func read(t *testing.T, name string) *tracetest.Trace {
	t.Helper()
	tr, err := tracetest.Read(name)
	ok(t, err)
	return tr
}

func TestText(t *testing.T) {
	before := time.Now()
	l, name := made(t)
	f := l.open("/data/a\n X_POSIX 0 write", f0())
	f.Moved(Write, 5<<40, 1<<33, f.Now())
	f.Moved(Read, 0, 3, f.Now())
	f.Moved(Read, 0, 0, f.Now())
	f.Moved(Write, 7, 1, f.Now())
	f.Did(Allocate, 0, 100, f.Now(), nil)
	f.Did(Truncate, 9, -1, f.Now(), nil)
	f.Did(Sync, -1, -1, f.Now(), errors.New("no"))
	l.name(Rename, "/data/a", "/data/b", f.Now())
	f.Moved(Write, 8, 1, f.Now())
	f.Did(Close, -1, -1, f.Now(), nil)
	tr := read(t, name)
	var got []string
	for _, c := range tr.Calls {
		if c.Start < 0 || c.Start > c.End || c.Rank != 0 {
			t.Errorf("%+v", c)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %d %d %d %s", c.File, c.Op, c.Segment, c.Off, c.N, c.To)))
	}
	a := `/data/a\n X_POSIX 0 write`
	want := []string{a + " open 0 -1 -1", a + " write 0 5497558138880 8589934592", a + " read 0 0 3", a + " write 1 7 1", a + " alloc 0 0 100", a + " trunc 0 9 -1",
		"/data/a rename 0 -1 -1 /data/b", a + " write 2 8 1", a + " close 0 -1 -1"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if tr.Head["nprocs"] != "1" || tr.Head["exe"] == "" || tr.Head["start_time"] != fmt.Sprint(l.base.Unix()) || l.base.Unix() < before.Unix() {
		t.Errorf("%v", tr.Head)
	}
}

// f0 is a moment after the start of a log.
func f0() Moment { return Moment{time.Now()} }

// TestKept: what is not written yet is bounded, and written at a sync.
func TestKept(t *testing.T) {
	l, name := made(t)
	f := l.open("/f", f0())
	writes := func() (n int) {
		for _, c := range read(t, name).Calls {
			if c.Op == "write" {
				if c.Segment != int64(n) || c.Off != int64(n) {
					t.Fatalf("%+v", c)
				}
				n++
			}
		}
		return n
	}
	for i := range 10 * blockRows {
		f.Moved(Write, int64(i), 1, f.Now())
		if n := writes(); n < i+1-blockRows || n > i+1 {
			t.Fatalf("%d of %d calls are written", n, i+1)
		}
	}
	f.Did(Sync, -1, -1, f.Now(), nil)
	if n := writes(); n != 10*blockRows {
		t.Errorf("after a sync %d calls are written", n)
	}
	if cap(f.rows) > blockRows {
		t.Errorf("%d rows are kept", cap(f.rows))
	}
}

func TestAtOnce(t *testing.T) {
	l, name := made(t)
	var wg sync.WaitGroup
	const files, ranks, each = 5, 4, 500
	for i := range files {
		f := l.open(fmt.Sprint("/f", i), f0())
		var calls sync.WaitGroup
		for range ranks {
			calls.Go(func() {
				for j := range each {
					f.Moved(Write, int64(j), 1, f.Now())
				}
			})
		}
		wg.Go(func() { calls.Wait(); f.Did(Close, -1, -1, f.Now(), nil) })
	}
	wg.Wait()
	n := map[string]int{}
	for _, c := range read(t, name).Calls {
		n[c.File+c.Op]++
	}
	for i := range files {
		if k := n[fmt.Sprintf("/f%dwrite", i)]; k != ranks*each {
			t.Errorf("file %d has %d calls", i, k)
		}
	}
}

func TestExpand(t *testing.T) {
	pid := fmt.Sprint(os.Getpid())
	for _, c := range []struct {
		pattern string
		several bool
		want    string
	}{
		{"a", false, "a"}, {"a", true, "a.7"}, {"a.%r.dxt", true, "a.7.dxt"}, {"%p", true, pid}, {"%h/%%%x%", false, "host/%%x%"}, {"%h", true, "host.7"},
	} {
		if got := expand(c.pattern, 7, c.several, "/etc/host"); got != c.want {
			t.Errorf("%s: %q, want %q", c.pattern, got, c.want)
		}
	}
}

// TestOverwritesNothing: what is there stays as it is, links are not followed.
func TestOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	there, link, dangling := filepath.Join(dir, "there"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	ok(t, os.WriteFile(there, []byte("mine"), 0o666))
	names := []string{there, dir}
	if os.Symlink("there", link) == nil && os.Symlink("new", dangling) == nil {
		names = append(names, link, dangling)
	}
	for _, n := range names {
		if l, err := newLog(n); l != nil || err == nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Error("a link was followed")
	}
}

// TestFails: after the first error nothing is written, it is told once, and calls go on.
func TestFails(t *testing.T) {
	l, name := made(t)
	var told []error
	l.complain = func(err error) { told = append(told, err) }
	ok(t, l.f.Close())
	f := l.open("/f", f0())
	for range 3 * blockRows {
		f.Moved(Write, 0, 1, f.Now())
	}
	f.Did(Close, -1, -1, f.Now(), nil)
	if len(told) != 1 || !errors.Is(told[0], os.ErrClosed) {
		t.Errorf("told %v", told)
	}
	read(t, name)
	if runtime.GOOS != "linux" {
		return
	}
	told = nil
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	l2 := &log{f: full, complain: l.complain, base: l.base}
	f = l2.open("/f", f0())
	f.Did(Sync, -1, -1, f.Now(), nil)
	f.Did(Close, -1, -1, f.Now(), nil)
	if len(told) != 1 || !errors.Is(told[0], syscall.ENOSPC) {
		t.Errorf("told %v", told)
	}
}

func TestMounts(t *testing.T) {
	list := []mount{{"/a/b", "x"}, {"/a", "y"}, {"/", "z"}}
	for name, want := range map[string]string{"/a/b/c": "x", "/a/bc": "y", "/a": "y", "/ab": "z", "rel": "UNKNOWN"} {
		if got := mountOf(list, name); got.kind != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// BenchmarkOff: what a program pays that is not traced.
func BenchmarkOff(b *testing.B) {
	b.Setenv(Variable, "")
	var f *File
	for b.Loop() {
		m := f.Now()
		f.Moved(Write, 0, 1, m)
	}
}

func BenchmarkOn(b *testing.B) {
	l, err := newLog(filepath.Join(b.TempDir(), "t"))
	ok(b, err)
	defer l.f.Close()
	f := l.open("/f", f0())
	b.ReportAllocs()
	for b.Loop() {
		m := f.Now()
		f.Moved(Write, 0, 1, m)
	}
}
