//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/blob"
)

// TestWhole: a read of any length, from any byte on, that touches damage is an input/output error: it is never shorter, though what is before the damage
// was read earlier and is mapped. All others are right. Of a mapped file all that is not damaged can be read.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "a.nc")
	write(t, src, 1, 3, blob.Options{})
	want := converted(t, src, 0)
	r, err := blob.Open(t.Context(), src, nil)
	ok(t, err)
	defer r.Close()
	x, err := r.Where(t.Context(), "T", []int64{1, 17})
	ok(t, err)
	c, err := r.Canonical(nil)
	ok(t, err)
	bad := ofSubfile(t, r, c, "T", 1, x.Subfile)
	b, err := os.ReadFile(x.File)
	ok(t, err)
	b[x.Offset+3] ^= 0x10
	ok(t, os.WriteFile(x.File, b, 0o666))

	at, _, _ := mountedAt(t, dir, &Options{Verify: blob.VerifyOnce})
	f, err := os.Open(filepath.Join(at, "a.nc"))
	ok(t, err)
	defer f.Close()
	size := int64(len(want))
	mapped, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ, unix.MAP_SHARED)
	ok(t, err)
	defer func() { ok(t, unix.Munmap(mapped)) }()
	page := int64(os.Getpagesize())
	for from := int64(0); from < size; from += page {
		to := min(from+page, size)
		touches := slices.ContainsFunc(bad, func(s span) bool { return from < s.to && to > s.from })
		// A page fault would hold up the scheduler of the process that is to answer it.
		if err := unix.Madvise(mapped[from:to], unix.MADV_POPULATE_READ); (err != nil) != touches {
			t.Fatalf("mapped, %d: %v", from, err)
		} else if err == nil && !bytes.Equal(mapped[from:to], want[from:to]) {
			t.Fatalf("mapped, %d has other bytes", from)
		}
	}
	reads := func(off, n int64) {
		t.Helper()
		off, buf := max(off, 0), make([]byte, n)
		end := min(off+n, size)
		got, err := unix.Pread(int(f.Fd()), buf, off)
		switch touches := slices.ContainsFunc(bad, func(s span) bool { return off < s.to && end > s.from }); {
		case touches && !errors.Is(err, unix.EIO):
			t.Errorf("%d bytes at %d, some of them damaged: %d, %v, want an input/output error", n, off, got, err)
		case !touches && (err != nil || int64(got) != end-off || !bytes.Equal(buf[:got], want[off:end])):
			t.Errorf("%d bytes at %d: %d, %v", n, off, got, err)
		}
	}
	for _, n := range []int64{1, 100, page, 2 * page, 4 * page, 128 << 10, 1<<20 - page, 1 << 20, 3 << 20} {
		for _, s := range bad {
			for _, off := range []int64{s.from - n, s.from - n + 1, s.from - n/2, (s.from - n/2) / page * page, s.from, s.to - 1, s.to} {
				reads(off, n)
			}
		}
	}
}
