package redset

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"unsafe"

	"blobio/internal/vfs"
)

// minMap is the least size of a file that is mapped, in bytes: of less, a read costs less than a mapping.
const minMap = 16 << 10

// view is a file in memory, used by several workers at once. It remains until it is closed and nobody
// uses it: who is late, as the communication broke, finds the bytes still there.
type view struct {
	mu     sync.Mutex
	m      *vfs.Mapping // nil: it has to be read
	refs   int
	closed bool
}

// acquire returns bytes [off, off+n), for release; nil if they have to be read.
func (v *view) acquire(off, n int64) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.m == nil || v.closed || off+n > int64(len(v.m.Bytes())) {
		return nil
	}
	v.refs++
	return v.m.Bytes()[off : off+n]
}

func (v *view) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refs--
	v.end()
}

func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	v.end()
}

// end ends the mapping when its time has come. mu is held.
func (v *view) end() {
	if v.closed && v.refs == 0 && v.m != nil {
		_ = v.m.Close() // of reading
		v.m = nil
	}
}

// drop gives bytes [lo, hi) back to the system: mapped is only what is worked on.
func (v *view) drop(lo, hi int64) {
	if b := v.acquire(lo, hi-lo); b != nil {
		v.m.Drop(lo, hi)
		v.release()
	}
}

// guarded calls f, which reads the views, and returns the number of the one that has no bytes where f touched it, or
// -1: the file became shorter, or its device failed. f must be such that it does no harm when it stops anywhere.
func guarded(views [][]byte, f func()) (i int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if at, ok := v.(interface{ Addr() uintptr }); ok {
			for i = range views {
				if covers(views[i], at.Addr()) {
					return
				}
			}
		}
		panic(v) // a mistake elsewhere
	}()
	f()
	return -1
}

// covers says whether an address is in the pages of b. Some systems tell only the page of a fault.
func covers(b []byte, addr uintptr) bool {
	if len(b) == 0 {
		return false
	}
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return addr >= first/page*page && addr < first+uintptr(len(b))
}

// touch reads a byte of each page.
func touch(b []byte) (sum byte) {
	page := os.Getpagesize()
	for i := 0; i < len(b); i += page {
		sum += b[i]
	}
	if len(b) > 0 {
		sum += b[len(b)-1]
	}
	return sum
}

// errVanished is that a mapped byte of a file was there, and was not when it was used again.
func errVanished(name string) error {
	return fmt.Errorf("%s: changed while it was read", name)
}
