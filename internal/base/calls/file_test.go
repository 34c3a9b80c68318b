package calls

import (
	"blobio/internal/base/testfiles"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

var ok = testfiles.Must

// TestSizeAndFarOffsets tests sizes beyond 2^32 bytes.
func TestSizeAndFarOffsets(t *testing.T) {
	f, err := OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	ok(t, err)
	defer f.Close()
	const far = 5<<30 + 3
	if _, err := f.WriteAt([]byte("far"), far); err != nil {
		t.Skip(err)
	}
	n, err := Size(f)
	if err != nil || n != far+3 {
		t.Errorf("size %d, %v", n, err)
	}
	b := make([]byte, 4)
	if n, err := f.ReadAt(b, far-1); n != 4 || err != nil || string(b) != "\x00far" {
		t.Errorf("%d, %v, %q", n, err, b)
	}
	ok(t, f.Truncate(far+1))
	if n, err := Size(f); err != nil || n != far+1 {
		t.Errorf("size %d, %v", n, err)
	}
	ok(t, f.Close())
	if _, err := Size(f); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("size of a closed file: %v", err)
	}
}

// TestBytesOfRecords: bytes inside an object that also contains pointers can be written and read, even if the object is on
// a stack.
func TestBytesOfRecords(t *testing.T) {
	f, err := OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	ok(t, err)
	defer f.Close()
	type record struct {
		next *record
		b    [8]byte
	}
	r := &record{next: &record{}, b: [8]byte{1, 2, 3}}
	if _, err := f.WriteAt(r.b[:], 0); err != nil {
		t.Fatal(err)
	}
	got := &record{next: r}
	if _, err := f.ReadAt(got.b[:], 0); err != nil || got.b != r.b || got.next != r {
		t.Errorf("%v, %v", got.b, err)
	}
	var own [8]byte
	if _, err := f.ReadAt(own[:], 0); err != nil || own != r.b {
		t.Errorf("%v, %v", own, err)
	}
}

// TestCloseBeside: calls during a Close succeed or fail because the file is closed. They never use another file that gets
// the same descriptor.
func TestCloseBeside(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		f, err := OpenFile(filepath.Join(dir, fmt.Sprint(i)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		ok(t, err)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if _, err := f.WriteAt([]byte{byte(i)}, 0); errors.Is(err, fs.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		runtime.Gosched()
		ok(t, f.Close())
		wg.Wait()
	}
	for i := range 50 {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		if ok(t, err); len(b) > 0 && !bytes.Equal(b, []byte{byte(i)}) {
			t.Errorf("file %d has %v", i, b)
		}
	}
}
