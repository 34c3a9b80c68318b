package transfer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

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
	// A second run has nothing to copy. It must not read or write any file.
	c := vfs.Count(vfs.OS)
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, FS: c, DstFS: c, Once: true, NoLock: true}); err != nil {
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
	stop := n.serve(ServeOptions{Rate: 20_000}) // the copies would take minutes in total
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
	for i := 0; strings.Contains(goroutines(), "start.func"); i++ { // the last goroutine may not have ended yet
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

// A list that arrives while the process waits is copied, and so is the list after it.
func TestServeListAfterList(t *testing.T) {
	n := newNode(t)
	stop := n.serve(ServeOptions{})
	for round := range 3 {
		n.fill(4, 10_000*(round+1), CommandRun)
		n.set(func(f *File) { f.Done = false })
		n.whole(n.until("done", func(f *File) bool { return f.Done && f.State == StateStopped }))
	}
	// The same list is requested again with changed sources.
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
	// Without a transfer file, nothing runs and no file is created.
	if err := os.Remove(n.file); err != nil {
		t.Fatal(err)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
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
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); !errors.Is(err, fault.ErrInUse) {
		t.Error(err)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := Serve(context.Background(), ServeOptions{Prefix: n.root, File: n.file, Once: true}); err != nil {
		t.Error(err)
	}
}

// BW and PERCENT in the transfer file are limits. If there are other limits, the lower ones apply.
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
	err := UpdateFile(context.Background(), mem, "/cntl/t", true, func(f *File) error {
		f.Items = []Item{{Src: "/f", Dst: "/g", Size: int64(len(data))}}
		f.Command, f.BW = CommandRun, 100_000
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Waits of the copy differ in length from waits between polls.
	c := newFakeClock()
	var slept time.Duration
	c.on = func(d time.Duration) {
		if d < time.Hour {
			slept += d
		}
	}
	if err := Serve(context.Background(), ServeOptions{FS: mem, Prefix: "/", File: "/cntl/t", NoLock: true, Once: true, Clock: c, Poll: time.Hour}); err != nil {
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
		if err := Serve(context.Background(), o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// WRITTEN must become SIZE only when the copy is durable.
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

// A command that arrives during an update must not be treated as the old command.
func TestServeCommandMeanwhile(t *testing.T) {
	n := newMemNode(t)
	n.fill(1, 100, CommandStop)
	s, err := newServer(ServeOptions{FS: n.fs, Prefix: n.root, File: n.file, NoLock: n.noLock})
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

// TestServeAskedAgain requests a finished copy again after it was removed. The copy must be repeated. This also holds for an
// empty file, although WRITTEN is always SIZE for an empty file.
func TestServeAskedAgain(t *testing.T) {
	n := newNode(t)
	items := n.fill(2, 0, CommandRun) // files of 0 and 1 bytes
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

// TestServeAskedMeanwhile requests a copy again at two moments: between reading and writing the transfer file, and after a
// stop.
func TestServeAskedMeanwhile(t *testing.T) {
	ctx := context.Background()
	for count := 1; count <= 2; count++ { // with 1, only the file of 0 bytes; with 2, also another file
		n := newMemNode(t)
		items := n.fill(count, 0, CommandRun)
		s, err := newServer(ServeOptions{FS: n.fs, Prefix: n.root, File: n.file, NoLock: n.noLock})
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
