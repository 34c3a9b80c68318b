package subfile

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/internal/base/vfs"
)

// A file taken from the idle list again is in use: the pool must not close it for another file.
func TestPoolKeepsWhatIsUsed(t *testing.T) {
	m := vfs.NewMem()
	touch(t, m, "a", "b", "c")
	p := NewPool(m, 1)
	var f vfs.File
	for range 2 {
		if f != nil {
			p.Put("a")
		}
		var err error
		if f, err = p.Get("a", false); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b", "c"} {
		need(p.Get(name, false))
		p.Put(name)
	}
	if _, err := f.Size(); err != nil {
		t.Errorf("the file in use: %v", err)
	}
	p.Put("a")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestPoolKeepsTheCap(t *testing.T) {
	m := vfs.NewMem()
	var open, most atomic.Int64
	fsys := vfs.NewFault(m, func(op vfs.Op) error {
		switch op.Kind {
		case vfs.OpOpen:
			n := open.Add(1)
			for o := most.Load(); n > o && !most.CompareAndSwap(o, n); o = most.Load() {
			}
		case vfs.OpClose:
			open.Add(-1)
		}
		return nil
	})
	for i := range 20 {
		touch(t, m, fmt.Sprintf("f%d", i))
	}
	p := NewPool(fsys, 4)
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for k := range 400 {
				name := fmt.Sprintf("f%d", (k*7+w*3)%20)
				f, err := p.Get(name, false)
				if err != nil {
					t.Error(err)
					return
				}
				if f.Name() != name {
					t.Errorf("got %s, want %s", f.Name(), name)
				}
				p.Put(name)
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n > 6 { // the limit, and one file in use of each goroutine
		t.Errorf("%d files open at once, the cap is 4", n)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d files still open after Close", n)
	}
	if _, err := p.Get("none", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get of a file that is not there: %v", err)
	}
	touch(t, m, "none")
	if _, err := p.Get("none", false); err != nil {
		t.Errorf("Get after the file was made: %v", err)
	}
	p.Put("none")
	p.Close()
}
