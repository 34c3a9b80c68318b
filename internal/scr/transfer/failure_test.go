package transfer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

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
	// Repaired and restarted.
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

// A waiting process retries failed copies only when ERROR is removed.
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

// After a kill at any operation, the next process must finish the list and must not repeat finished
// copies.
func TestServeKilled(t *testing.T) {
	ctx := context.Background()
	count := func() int64 {
		n := newMemNode(t)
		n.fill(4, 9000, CommandRun)
		c := vfs.Count(n.fs)
		if err := Serve(ctx, ServeOptions{FS: n.fs, NoLock: n.noLock, Prefix: n.root, File: n.file, DstFS: c, Once: true, BufSize: 4096}); err != nil {
			t.Fatal(err)
		}
		return c.Ops()
	}()
	for k := int64(1); k <= count; k++ {
		n := newMemNode(t)
		n.fill(4, 9000, CommandRun)
		// After a device failure no cleanup is possible, as after a kill of the process.
		_ = Serve(ctx, ServeOptions{FS: n.fs, NoLock: n.noLock, Prefix: n.root, File: n.file, DstFS: vfs.FailFrom(n.fs, k, errBoom), Once: true, BufSize: 4096})
		done := map[string]time.Time{}
		for dst := range n.data {
			if st, err := n.fs.Stat(dst); err == nil {
				done[dst] = st.ModTime()
			}
		}
		n.set(func(f *File) { f.State = StateRunning })
		if err := Serve(ctx, ServeOptions{FS: n.fs, NoLock: n.noLock, Prefix: n.root, File: n.file, Once: true}); err != nil {
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

// A file is copied if the transfer file lists its bytes as written but the file does not exist.
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

// A transfer file damaged by a crash is reported and not changed. A new transfer file is accepted.
func TestServeDamaged(t *testing.T) {
	n := newNode(t)
	n.fill(1, 10, CommandRun)
	b := get(t, vfs.OS, n.file)
	put(t, vfs.OS, n.file, b[:len(b)-3])
	var fe *fault.FormatError
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
