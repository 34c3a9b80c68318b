package decomp

import (
	"bytes"
	"testing"
)

// TestMoveRun: runs of any length and alignment are copied, and no other bytes change.
func TestMoveRun(t *testing.T) {
	src := fill(longRun+64, 1)
	for n := range longRun + 8 {
		for _, off := range []int{0, 1, 3, 8} {
			dst := fill(longRun+64, 99)
			want := bytes.Clone(dst)
			copy(want[off:off+n], src[off/2:])
			if moveRun(dst[off:off+n], src[off/2:off/2+n]); !bytes.Equal(dst, want) {
				t.Fatalf("%d bytes at %d are not a copy", n, off)
			}
		}
	}
}
