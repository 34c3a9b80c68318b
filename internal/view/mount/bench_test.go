//go:build linux && !386 && !arm

package mount

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"blobio/blob"
	"blobio/internal/view/tree"
)

// BenchmarkSequential reads a whole file through a handle, without FUSE. It reads in parts of maxRead bytes, after which Read
// also checks the data that follow, and in slightly shorter parts without this check.
func BenchmarkSequential(b *testing.B) {
	dir, name := b.TempDir(), "a.nc"
	write(b, filepath.Join(dir, name), 1, 512, blob.Options{})
	for _, n := range []int{maxRead - os.Getpagesize(), maxRead} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			buf := make([]byte, n)
			for b.Loop() {
				b.StopTimer()
				tr, err := tree.Open(dir, nil)
				ok(b, err)
				e, err := tr.Lookup(name)
				ok(b, err)
				d := &dataset{m: &Mount{tree: tr}, path: name, line: e.Line, entry: e}
				h, _, no := d.Open(b.Context(), 0)
				if no != 0 {
					b.Fatal(no)
				}
				b.StartTimer()
				o := h.(*opened)
				for off := int64(0); off < e.Size; off += int64(n) {
					r, no := o.Read(b.Context(), buf, off)
					if no != 0 {
						b.Fatal(no)
					}
					r.Bytes(buf)
					r.Done()
				}
				b.StopTimer()
				o.Release(b.Context())
				ok(b, tr.Close())
				b.SetBytes(e.Size)
				b.StartTimer()
			}
		})
	}
}
