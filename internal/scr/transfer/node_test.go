package transfer

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"blobio/internal/base/vfs"
)

// node has a control directory, a cache and a prefix directory on disk.
type node struct {
	t      *testing.T
	fs     vfs.FS
	noLock bool
	root   string
	file   string
	data   map[string][]byte // expected data by destination
}

func newNode(t *testing.T) *node {
	root := t.TempDir()
	return &node{t: t, fs: vfs.OS, root: root, file: filepath.Join(root, "cntl", FileName), data: map[string][]byte{}}
}

// newMemNode returns a node in memory. File systems in memory have no locks.
func newMemNode(t *testing.T) *node {
	return &node{t: t, fs: vfs.NewMem(), noLock: true, root: "/n", file: "/n/cntl/" + FileName, data: map[string][]byte{}}
}

// fill makes n files in the cache and lists them.
func (n *node) fill(count, size int, command Command) []Item {
	n.t.Helper()
	var items []Item
	for i := range count {
		b := noise(uint64(i), size+i)
		it := Item{Src: filepath.Join(n.root, "cache", fmt.Sprint(i)), Dst: filepath.Join(n.root, "prefix", fmt.Sprintf("d%d", i%3), fmt.Sprint(i)), Size: int64(len(b))}
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
	err := UpdateFile(context.Background(), n.fs, n.file, n.noLock, func(f *File) error { change(f); return nil })
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) read() *File {
	n.t.Helper()
	f, err := ReadFile(context.Background(), n.fs, n.file, n.noLock)
	if err != nil {
		n.t.Fatal(err)
	}
	return f
}

// until waits until the transfer file meets a condition.
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

// whole fails the test if a file that exists or is listed as written is not whole.
func (n *node) whole(f *File) {
	n.t.Helper()
	for _, i := range f.Items {
		j := Job{Dst: i.Dst}
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

// serve runs a transfer process until the test ends or until stop is called. stop returns the
// error of the process.
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
