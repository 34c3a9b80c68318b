//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/blob"
)

// mapped maps a file of a mount and returns its bytes and the unreadable pages, which are zeros. Another process does the
// mapping: a page fault in this process, which serves the mount, could block its scheduler or memory for ever. can is false
// before Linux 6.6, where direct I/O files have no shared mappings.
func mapped(t *testing.T, path string) (b []byte, bad []int64, can bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMapsForAnother$")
	cmd.Env = append(os.Environ(), mapsFor+"="+path)
	out, err := cmd.Output()
	ok(t, err)
	if string(out) == "none" {
		return nil, nil, false
	}
	for len(out) > 0 {
		switch n := min(os.Getpagesize(), len(out)-1); out[0] {
		case '+':
			b, out = append(b, out[1:1+n]...), out[1+n:]
		case '-':
			bad = append(bad, int64(len(b)))
			b, out = append(b, make([]byte, os.Getpagesize())...), out[1:]
		default:
			t.Fatalf("the process that maps says %.100q", out)
		}
	}
	return b, bad, true
}

const mapsFor = "BLOBIO_TEST_MAPS"

// TestMapsForAnother is the child process of mapped.
func TestMapsForAnother(t *testing.T) {
	path := os.Getenv(mapsFor)
	if path == "" {
		t.Skip("only for other tests")
	}
	f, err := os.Open(path)
	ok(t, err)
	info, err := f.Stat()
	ok(t, err)
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if errors.Is(err, unix.ENODEV) {
		ok(t, second(os.Stdout.WriteString("none")))
		os.Exit(0)
	}
	ok(t, err)
	for p := range slices.Chunk(m, os.Getpagesize()) {
		said := []byte{'-'}
		if unix.Madvise(p, unix.MADV_POPULATE_READ) == nil {
			said = append([]byte{'+'}, p...)
		}
		ok(t, second(os.Stdout.Write(said)))
	}
	os.Exit(0) // suppresses the test's output
}

// TestWhole checks that a read of any length and offset that touches damage is an input/output error. The read is never short,
// even if data before the damage were read earlier or are mapped, and although the kernel splits reads into parts of 1 MiB. All
// other reads return the right bytes. The only exception is a read near damage that may be a part of a longer read: it is an
// error. All undamaged data of a mapped file can be read.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "a.nc")
	write(t, src, 1, 12, blob.Options{})
	want := converted(t, src, 0)
	r, err := blob.Open(t.Context(), src, nil)
	ok(t, err)
	defer r.Close()
	x, err := r.Inspect().Where(t.Context(), "T", []int64{9, 17})
	ok(t, err)
	c, err := r.Canonical(nil)
	ok(t, err)
	bad := ofSubfile(t, r, c, "T", 9, x.Subfile)
	b, err := os.ReadFile(x.File)
	ok(t, err)
	b[x.Offset+3] ^= 0x10
	ok(t, os.WriteFile(x.File, b, 0o666))

	at, _, _ := mountedAt(t, dir, &Options{Verify: blob.VerifyOnce})
	f, err := os.Open(filepath.Join(at, "a.nc"))
	ok(t, err)
	defer f.Close()
	size := int64(len(want))
	page := int64(os.Getpagesize())
	maps, faults, can := mapped(t, filepath.Join(at, "a.nc"))
	for from := int64(0); can && from < size; from += page {
		to := min(from+page, size)
		touches := slices.ContainsFunc(bad, func(s span) bool { return from < s.to && to > s.from })
		if slices.Contains(faults, from) != touches || !touches && !bytes.Equal(maps[from:to], want[from:to]) {
			t.Fatalf("mapped, at %d: other bytes, or an error where none is due", from)
		}
	}
	reads := func(off, n int64) {
		t.Helper()
		off, buf := max(off, 0), make([]byte, n)
		end := min(off+n, size)
		got, err := unix.Pread(int(f.Fd()), buf, off)
		may := n > maxRead-page && slices.ContainsFunc(bad, func(s span) bool { return off < s.to }) && errors.Is(err, unix.EIO)
		switch touches := slices.ContainsFunc(bad, func(s span) bool { return off < s.to && end > s.from }); {
		case touches && !errors.Is(err, unix.EIO):
			t.Errorf("%d bytes at %d, some of them damaged: %d, %v, want an input/output error", n, off, got, err)
		case !touches && !may && (err != nil || int64(got) != end-off || !bytes.Equal(buf[:got], want[off:end])):
			t.Errorf("%d bytes at %d: %d, %v", n, off, got, err)
		}
	}
	for _, n := range []int64{1, 100, page, 2 * page, 4 * page, 128 << 10, 1<<20 - page, 1 << 20, 3 << 20, 4<<20 + 7} {
		for _, s := range bad {
			for _, off := range []int64{s.from - n, s.from - n + 1, s.from - n/2, (s.from - n/2) / page * page, s.from, s.to - 1, s.to} {
				reads(off, n)
			}
		}
	}
}
