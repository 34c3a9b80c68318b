package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/internal/vfs"
	"blobio/scr/kvtree"
)

// node is a control directory, a cache and a prefix directory on disk.
type node struct {
	t    *testing.T
	fs   vfs.FS
	lock kvtree.LockKind
	root string
	file string
	data map[string][]byte // by destination
}

func newNode(t *testing.T) *node {
	root := t.TempDir()
	return &node{t: t, fs: vfs.OS, root: root, file: filepath.Join(root, "cntl", FileName), data: map[string][]byte{}}
}

// newMemNode is a node in memory, where there are no locks.
func newMemNode(t *testing.T) *node {
	return &node{t: t, fs: vfs.NewMem(), lock: kvtree.NoLock, root: "/n", file: "/n/cntl/" + FileName, data: map[string][]byte{}}
}

// fill makes n files in the cache and lists them.
func (n *node) fill(count, size int, command Command) []Item {
	n.t.Helper()
	var items []Item
	for i := range count {
		b := noise(uint64(i), size+i)
		it := Item{Src: filepath.Join(n.root, "cache", fmt.Sprint(i)), Dst: filepath.Join(n.root, "prefix", fmt.Sprintf("d%d", i%3), fmt.Sprint(i)), Size: int64(len(b)), Zstd: i%4 == 3}
		if i%2 == 0 {
			j := job("", "", b)
			it.CRC, it.HasCRC = j.CRC, true
		}
		put(n.t, n.fs, it.Src, b)
		n.data[it.Dst] = b
		items = append(items, it)
	}
	n.set(func(f *File) { f.Items, f.Command = items, command })
	return items
}

func (n *node) set(change func(f *File)) {
	n.t.Helper()
	if err := n.fs.MkdirAll(filepath.Dir(n.file)); err != nil {
		n.t.Fatal(err)
	}
	err := UpdateFile(context.Background(), n.fs, n.file, n.lock, func(f *File) error { change(f); return nil })
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) read() *File {
	n.t.Helper()
	f, err := ReadFile(context.Background(), n.fs, n.file, n.lock)
	if err != nil {
		n.t.Fatal(err)
	}
	return f
}

// until waits until the transfer file is as wanted.
func (n *node) until(what string, ok func(f *File) bool) *File {
	n.t.Helper()
	for range 60_000 {
		if f := n.read(); ok(f) {
			return f
		}
		time.Sleep(time.Millisecond)
	}
	n.t.Fatalf("never: %s; %+v", what, n.read())
	return nil
}

// whole fails the test if a file that is said to be written is not, or one that is there is not whole.
func (n *node) whole(f *File) {
	n.t.Helper()
	for _, i := range f.Items {
		j := Job{Dst: i.Dst, Compress: i.Zstd}
		b, ok := content(n.t, n.fs, j)
		if ok && !bytes.Equal(b, n.data[i.Dst]) {
			n.t.Errorf("%s is not what it should be", i.Dst)
		}
		if i.Whole() && i.Size > 0 && !ok {
			n.t.Errorf("%s is said to be written", i.Dst)
		}
	}
	noTemps(n.t, n.fs, filepath.Join(n.root, "prefix"))
}

// serve runs a transfer process until the test ends or stop is called, which returns its error.
func (n *node) serve(o ServeOptions) (stop func() error) {
	o.File, o.Prefix, o.Poll = n.file, n.root, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, o) }()
	var err error
	ended := false
	stop = func() error {
		cancel()
		if !ended {
			err, ended = <-done, true
		}
		return err
	}
	n.t.Cleanup(func() { _ = stop() })
	return stop
}

func TestServeOnce(t *testing.T) {
	n := newNode(t)
	n.fill(10, 50_000, CommandRun)
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true, Files: 2, Poll: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	f := n.read()
	if !f.Done || f.Failed || f.State != StateStopped || f.Command != CommandRun {
		t.Errorf("%+v", f)
	}
	for _, i := range f.Items {
		if want := job("", "", n.data[i.Dst]); !i.Whole() || !i.HasCRC || i.CRC != want.CRC || i.Error != "" {
			t.Errorf("%+v", i)
		}
	}
	n.whole(f)
	noGoroutines(t)
	// Once more there is nothing to do: no file is read or written.
	c := vfs.Count(vfs.OS)
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, FS: c, DstFS: c, Once: true, Lock: kvtree.NoLock}); err != nil {
		t.Fatal(err)
	}
	if r := c.Bytes(vfs.OpRead); r > 20_000 {
		t.Errorf("%d bytes read again", r)
	}
}

func TestServeNothing(t *testing.T) {
	n := newNode(t)
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(n.file); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a transfer file was made")
	}
}

func TestServeCommands(t *testing.T) {
	n := newNode(t)
	stop := n.serve(ServeOptions{Rate: 20_000}) // minutes for all
	n.fill(3, 1<<20, CommandStop)
	n.until("stopped", func(f *File) bool { return f.State == StateStopped })
	n.set(func(f *File) { f.Command = CommandRun })
	n.until("running", func(f *File) bool { return f.State == StateRunning && f.Items[0].Written > 0 })
	n.set(func(f *File) { f.Command = CommandStop })
	f := n.until("stopped again", func(f *File) bool { return f.State == StateStopped })
	if f.Done || f.Failed || f.Items[2].Whole() {
		t.Errorf("%+v", f)
	}
	n.whole(f)
	for i := 0; strings.Contains(goroutines(), "start.func"); i++ { // the last one may be on its way out
		if i == 60_000 {
			t.Fatalf("still copying:\n%s", goroutines())
		}
		time.Sleep(time.Millisecond)
	}
	n.set(func(f *File) { f.Command = CommandExit })
	n.until("exiting", func(f *File) bool { return f.State == StateExiting })
	if err := stop(); err != nil {
		t.Error(err)
	}
	noGoroutines(t)
}

// A list that is given while the process waits is worked off; so is one that follows.
func TestServeListAfterList(t *testing.T) {
	n := newNode(t)
	stop := n.serve(ServeOptions{})
	for round := range 3 {
		n.fill(4, 10_000*(round+1), CommandRun)
		n.set(func(f *File) { f.Done = false })
		n.whole(n.until("done", func(f *File) bool { return f.Done && f.State == StateStopped }))
	}
	// The same list, asked for again: the sources are other ones now.
	items := n.fill(4, 30_000, CommandStop)
	for i, it := range items {
		b := noise(uint64(100+i), int(it.Size))
		put(t, vfs.OS, it.Src, b)
		n.data[it.Dst] = b
	}
	n.until("stopped", func(f *File) bool { return f.State == StateStopped })
	n.set(func(f *File) {
		for i := range f.Items {
			f.Items[i].Written, f.Items[i].HasCRC, f.Items[i].CRC = 0, false, 0
		}
		f.Done, f.Command = false, CommandRun
	})
	n.whole(n.until("done", func(f *File) bool { return f.Done }))
	// And without a file nothing runs, nor is one made.
	if err := os.Remove(n.file); err != nil {
		t.Fatal(err)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestServeFailures(t *testing.T) {
	n := newNode(t)
	items := n.fill(5, 9000, CommandRun)
	flipped := bytes.Clone(n.data[items[0].Dst])
	flipped[8999] ^= 1
	put(t, vfs.OS, items[0].Src, flipped)
	if err := os.Remove(items[1].Src); err != nil {
		t.Fatal(err)
	}
	once := ServeOptions{Prefix: n.root, File: n.file, Once: true}
	err := Serve(context.Background(), once)
	var failed *FailedError
	if !errors.As(err, &failed) || len(failed.Items) != 2 {
		t.Errorf("%v", err)
	}
	f := n.read()
	if f.Done || !f.Failed || f.State != StateStopped {
		t.Errorf("%+v", f)
	}
	for k, i := range f.Items {
		if bad := k < 2; bad != (i.Error != "") || bad == i.Whole() {
			t.Errorf("%+v", i)
		}
	}
	n.whole(f)
	// Mended, and started again.
	put(t, vfs.OS, items[0].Src, n.data[items[0].Dst])
	put(t, vfs.OS, items[1].Src, n.data[items[1].Dst])
	if err := Serve(context.Background(), once); err != nil {
		t.Fatal(err)
	}
	if f = n.read(); !f.Done || f.Failed || f.Items[0].Error != "" {
		t.Errorf("%+v", f)
	}
	n.whole(f)
}

// A process that waits does not try again by itself, but when ERROR is taken away.
func TestServeFailedThenCleared(t *testing.T) {
	n := newNode(t)
	items := n.fill(1, 9000, CommandRun)
	if err := os.Rename(items[0].Src, items[0].Src+".away"); err != nil {
		t.Fatal(err)
	}
	n.serve(ServeOptions{})
	n.until("failed", func(f *File) bool { return f.Failed && f.State == StateStopped })
	if err := os.Rename(items[0].Src+".away", items[0].Src); err != nil {
		t.Fatal(err)
	}
	n.set(func(f *File) { f.Items[0].Error = "" })
	n.whole(n.until("done", func(f *File) bool { return f.Done && !f.Failed }))
}

// Killed at any operation, the next process finishes the list; what was done is not copied again.
func TestServeKilled(t *testing.T) {
	ctx := context.Background()
	count := func() int64 {
		n := newMemNode(t)
		n.fill(4, 9000, CommandRun)
		c := vfs.Count(n.fs)
		if err := Serve(ctx, ServeOptions{FS: n.fs, Lock: n.lock, Prefix: n.root, File: n.file, DstFS: c, Once: true, BufSize: 4096}); err != nil {
			t.Fatal(err)
		}
		return c.Ops()
	}()
	for k := int64(1); k <= count; k++ {
		n := newMemNode(t)
		n.fill(4, 9000, CommandRun)
		// Of a device that dies nothing can be cleaned up, as by a process that was killed.
		_ = Serve(ctx, ServeOptions{FS: n.fs, Lock: n.lock, Prefix: n.root, File: n.file, DstFS: vfs.FailFrom(n.fs, k, errBoom), Once: true, BufSize: 4096})
		done := map[string]time.Time{}
		for dst := range n.data {
			if st, err := n.fs.Stat(dst); err == nil {
				done[dst] = st.ModTime()
			}
		}
		n.set(func(f *File) { f.State = StateRunning })
		if err := Serve(ctx, ServeOptions{FS: n.fs, Lock: n.lock, Prefix: n.root, File: n.file, Once: true}); err != nil {
			t.Fatal(err)
		}
		for dst, at := range done {
			if st, err := n.fs.Stat(dst); err != nil || !st.ModTime().Equal(at) {
				t.Errorf("killed at %d: %s was copied again", k, dst)
			}
		}
		f := n.read()
		if !f.Done {
			t.Errorf("killed at %d: %+v", k, f)
		}
		n.whole(f)
	}
}

// What the file says was written and is not there is copied.
func TestServeWrittenButGone(t *testing.T) {
	n := newNode(t)
	items := n.fill(3, 9000, CommandRun)
	put(t, vfs.OS, items[1].Dst, []byte("part of it"))
	n.set(func(f *File) {
		for i := range f.Items {
			f.Items[i].Written = f.Items[i].Size
		}
	})
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); err != nil {
		t.Fatal(err)
	}
	n.whole(n.read())
}

func TestServeEmptyFile(t *testing.T) {
	n := newNode(t)
	n.fill(1, 0, CommandRun)
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(n.read().Items[0].Dst); err != nil || st.Size() != 0 || !n.read().Done {
		t.Error(st, err)
	}
}

func TestServeInUse(t *testing.T) {
	n := newNode(t)
	n.fill(1, 10, CommandRun)
	stop := n.serve(ServeOptions{})
	n.until("done", func(f *File) bool { return f.Done })
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); err != nil {
		t.Error(err)
	}
}

// A file that a crash damaged is reported and left alone; a new one is taken up.
func TestServeDamaged(t *testing.T) {
	n := newNode(t)
	n.fill(1, 10, CommandRun)
	b := get(t, vfs.OS, n.file)
	put(t, vfs.OS, n.file, b[:len(b)-3])
	var fe *FormatError
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); !errors.As(err, &fe) {
		t.Error(err)
	}
	if got := get(t, vfs.OS, n.file); !bytes.Equal(got, b[:len(b)-3]) {
		t.Error("the file was changed")
	}
	n.serve(ServeOptions{})
	n.fill(1, 10, CommandRun)
	n.until("done", func(f *File) bool { return f.Done })
}

// BW and PERCENT of the file are limits; the lower of two holds.
func TestServeLimits(t *testing.T) {
	for _, x := range []struct{ file, option, want float64 }{{0, 0, 0}, {5, 0, 5}, {0, 5, 5}, {4, 5, 4}, {5, 4, 4}} {
		if got := lower(x.file, x.option); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
	mem := vfs.NewMem()
	data := noise(1, 500_000)
	put(t, mem, "/f", data)
	if err := mem.MkdirAll("/cntl"); err != nil {
		t.Fatal(err)
	}
	err := UpdateFile(context.Background(), mem, "/cntl/t", kvtree.NoLock, func(f *File) error {
		f.Items = []Item{{Src: "/f", Dst: "/g", Size: int64(len(data))}}
		f.Command, f.BW = CommandRun, 100_000
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The waits of the copy are told from those between looks by their length.
	c := newFakeClock()
	var slept time.Duration
	c.on = func(d time.Duration) {
		if d < time.Hour {
			slept += d
		}
	}
	if err := Serve(context.Background(), ServeOptions{FS: mem, Prefix: "/", File: "/cntl/t", Lock: kvtree.NoLock, Once: true, Clock: c, Poll: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(get(t, mem, "/g"), data) {
		t.Error("the copy differs")
	}
	if slept == 0 {
		t.Error("no waits")
	}
}

func TestServeOptions(t *testing.T) {
	root := t.TempDir()
	for _, o := range []ServeOptions{
		{}, {File: "f"}, {File: "f", Prefix: "p"}, {File: "f", Prefix: root, Poll: 1}, {File: "f", Prefix: root, Rate: -1},
		{File: "f", Prefix: root, CPU: -1}, {File: "f", Prefix: root, Files: -1}, {File: "f", Prefix: root, BufSize: 1},
	} {
		if err := Serve(context.Background(), o); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// WRITTEN is SIZE only when the copy is durable.
func TestServeWrittenWhenDurable(t *testing.T) {
	n := newNode(t)
	if err := os.MkdirAll(filepath.Dir(n.fill(1, 50_000, CommandRun)[0].Dst), 0o777); err != nil {
		t.Fatal(err)
	}
	early := 0
	o := ServeOptions{Prefix: n.root, File: n.file, Once: true, Poll: time.Millisecond, BufSize: 4096}
	o.DstFS = vfs.NewFault(vfs.OS, func(op vfs.Op) error {
		if op.Kind == vfs.OpSync || op.Kind == vfs.OpRename || op.Kind == vfs.OpSyncDir {
			f := n.until("all is copied", func(f *File) bool { return f.Items[0].Written >= f.Items[0].Size-1 })
			if f.Items[0].Whole() || f.Done {
				early++
			}
		}
		return nil
	})
	if err := Serve(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if early > 0 {
		t.Errorf("%d times the file said so too early", early)
	}
	n.whole(n.read())
}

// A command that was given meanwhile is not answered as if it were the old one.
func TestServeCommandMeanwhile(t *testing.T) {
	n := newMemNode(t)
	n.fill(1, 100, CommandStop)
	s, err := newServer(ServeOptions{FS: n.fs, Prefix: n.root, File: n.file, Lock: n.lock})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(context.Background(), CommandRun, StateRunning); err != nil {
		t.Fatal(err)
	}
	if f := n.read(); f.State != "" {
		t.Errorf("state %s", f.State)
	}
}

// TestServeAskedAgain: a copy that was made, and is asked for again when it is gone, is made again, also of a file without bytes,
// of which WRITTEN does not tell.
func TestServeAskedAgain(t *testing.T) {
	n := newNode(t)
	items := n.fill(2, 0, CommandRun) // of 0 and 1 bytes
	stop := n.serve(ServeOptions{})
	for range 3 {
		f := n.until("done", func(f *File) bool { return f.Done })
		n.whole(f)
		for _, i := range items {
			if err := n.fs.Remove(i.Dst); err != nil {
				t.Fatal(err)
			}
		}
		n.set(func(f *File) {
			for _, i := range items {
				f.Put(i)
			}
			f.Done = false
		})
	}
	n.until("done", func(f *File) bool { return f.Done })
	for _, i := range items {
		if _, err := n.fs.Stat(i.Dst); err != nil {
			t.Error(err)
		}
	}
	if err := stop(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestServeAskedMeanwhile: likewise when it is asked for while the process, which has read the file before, writes it, and
// after a stop.
func TestServeAskedMeanwhile(t *testing.T) {
	ctx := context.Background()
	for count := 1; count <= 2; count++ { // a file of 0 bytes, and another one
		n := newMemNode(t)
		items := n.fill(count, 0, CommandRun)
		s, err := newServer(ServeOptions{FS: n.fs, Prefix: n.root, File: n.file, Lock: n.lock})
		if err != nil {
			t.Fatal(err)
		}
		finish := func() {
			for !n.read().Done {
				if s.run != nil {
					<-s.run.Done()
				}
				if _, err := s.poll(ctx); err != nil {
					t.Fatal(err)
				}
			}
			n.whole(n.read())
			for _, i := range items {
				if _, err := n.fs.Stat(i.Dst); err != nil {
					t.Errorf("%d files: %v", count, err)
				}
			}
		}
		again := func() {
			for _, i := range items {
				if err := n.fs.Remove(i.Dst); err != nil {
					t.Fatal(err)
				}
			}
			n.set(func(f *File) {
				for _, i := range items {
					f.Put(i)
				}
				f.Done, f.Command = false, CommandRun
			})
		}
		finish()
		again()
		if err := s.write(ctx, CommandRun, StateStopped); err != nil {
			t.Fatal(err)
		}
		finish()
		n.set(func(f *File) { f.Items, f.Command = nil, CommandStop })
		if _, err := s.poll(ctx); err != nil {
			t.Fatal(err)
		}
		again()
		finish()
	}
}
