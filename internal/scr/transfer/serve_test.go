package transfer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"blobio/internal/vfs"
	"blobio/scr/kvtree"
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
