package transfer

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// put writes a file and its folders, durably.
func put(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		if err := fsys.MkdirAll(name[:i]); err != nil {
			t.Fatal(err)
		}
		for d := name[:i]; strings.Contains(d, "/"); d = d[:strings.LastIndexByte(d, '/')] {
			if err := vfs.SyncParent(fsys, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = fsys.Remove(name)
	if err := vfs.WriteFile(fsys, name, data); err != nil {
		t.Fatal(err)
	}
	if err := vfs.SyncParent(fsys, name); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func engine(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// job returns a job with the size and the CRC of data.
func job(src, dst string, data []byte) Job {
	return Job{Src: src, Dst: dst, Size: int64(len(data)), CRC: crc32.ChecksumIEEE(data), HasCRC: true}
}

// noTemps fails the test if there are unfinished files anywhere below a folder.
func noTemps(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, d := range list {
		name := dir + "/" + d.Name()
		if d.IsDir() {
			noTemps(t, fsys, name)
		} else if durable.IsTemp(name) {
			t.Errorf("%s was left", name)
		}
	}
}

func TestCopySizes(t *testing.T) {
	const buf = 4096
	for _, n := range []int{0, 1, buf - 1, buf, buf + 1, 3 * buf, 10*buf + 7} {
		mem := vfs.NewMem()
		data := noise(uint64(n), n)
		put(t, mem, "/src/f", data)
		e := engine(t, Options{FS: mem, BufSize: buf, Sync: true})
		j := job("/src/f", "/a/b/c/f", data)
		r, err := e.Copy(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		got := get(t, mem, "/a/b/c/f")
		if r.Size != int64(n) || r.CRC != j.CRC || !r.Done {
			t.Errorf("%d bytes: %+v", n, r)
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes: the copy differs", n)
		}
		noTemps(t, mem, "/a")
	}
}

func TestCopyUnknownSize(t *testing.T) {
	mem := vfs.NewMem()
	put(t, mem, "/f", noise(1, 10000))
	r, err := engine(t, Options{FS: mem}).Copy(context.Background(), Job{Src: "/f", Dst: "/g", Size: -1})
	if err != nil || r.Size != 10000 || r.CRC != crc32.ChecksumIEEE(noise(1, 10000)) {
		t.Fatal(r, err)
	}
}
