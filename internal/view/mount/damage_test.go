//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/blob"
	"blobio/cdf5"
)

type span struct{ from, to int64 }

// ofSubfile returns the positions, in the canonical file, of a subfile's elements of a record of a variable.
func ofSubfile(t *testing.T, r *blob.Reader, c *blob.CanonicalFile, name string, rec int64, subfile int) (out []span) {
	t.Helper()
	v := slices.IndexFunc(c.Header().Vars, func(v cdf5.Var) bool { return v.Name == name })
	begin, n := c.Header().Extent(v, rec)
	for k := range int64(ranks) {
		index := []int64{k * width / ranks}
		if c.Header().IsRecord(v) {
			index = []int64{rec, index[0]}
		}
		x, err := r.Inspect().Where(t.Context(), name, index)
		ok(t, err)
		if x.Subfile == subfile {
			out = append(out, span{begin + k*n/ranks, begin + (k+1)*n/ranks})
		}
	}
	if len(out) == 0 || len(out) == ranks {
		t.Fatalf("%d of %d ranks are in subfile %d", len(out), ranks, subfile)
	}
	return out
}

// readsPages reads a file page by page: pages that touch a bad span must be EIO, all others must be right.
func readsPages(t *testing.T, path string, want []byte, bad []span) {
	t.Helper()
	f, err := os.Open(path)
	ok(t, err)
	defer f.Close()
	page := int64(os.Getpagesize())
	buf := make([]byte, page)
	for off := int64(0); off < int64(len(want)); off += page {
		n, err := f.ReadAt(buf, off)
		touches := slices.ContainsFunc(bad, func(s span) bool { return off < s.to && off+page > s.from })
		switch {
		case errors.Is(err, unix.EIO) && touches:
		case touches:
			t.Fatalf("at %d: %d bytes, %v, want an input/output error", off, n, err)
		case err != nil && !errors.Is(err, io.EOF):
			t.Fatalf("at %d: %v", off, err)
		case !bytes.Equal(buf[:n], want[off:off+int64(n)]):
			t.Fatalf("at %d: other bytes, and no error", off)
		}
	}
}

// TestDamage checks that a changed byte is EIO for all pages with data under the same checksum, with a log line that names the
// place and the cause. All other pages can be read.
func TestDamage(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		t.Run(layout.String(), func(t *testing.T) {
			dir := t.TempDir()
			src := filepath.Join(dir, "a.nc")
			write(t, src, 1, 3, blob.Options{Layout: layout})
			want := converted(t, src, 0)
			r, err := blob.Open(t.Context(), src, nil)
			ok(t, err)
			defer r.Close()
			x, err := r.Inspect().Where(t.Context(), "T", []int64{1, 17})
			ok(t, err)
			c, err := r.Canonical(nil)
			ok(t, err)
			f, err := os.OpenFile(x.File, os.O_RDWR, 0)
			ok(t, err)
			b := []byte{0}
			ok(t, second(f.ReadAt(b, x.Offset+3)))
			b[0] ^= 0x10
			ok(t, second(f.WriteAt(b, x.Offset+3)))
			ok(t, f.Close())

			at, _, log := mountedAt(t, dir, &Options{Verify: blob.VerifyOnce})
			readsPages(t, filepath.Join(at, "a.nc"), want, ofSubfile(t, r, c, "T", 1, x.Subfile))
			if s := log.String(); !strings.Contains(s, x.File) || !strings.Contains(s, "input/output error") || !strings.Contains(s, "read a.nc from byte") {
				t.Errorf("the log: %s", s)
			}
		})
	}
}

// TestMissing checks that programs can open a dataset with a missing subfile, or a damaged subfile header. Only the data of that
// subfile are EIO.
func TestMissing(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		for gone, name := range []string{"a.nc.0000", "a.nc.0001"} {
			for _, remove := range []bool{true, false} {
				dir := t.TempDir()
				src := filepath.Join(dir, "a.nc")
				write(t, src, 1, 2, blob.Options{Layout: layout})
				want := converted(t, src, 0)
				r, err := blob.Open(t.Context(), src, nil)
				ok(t, err)
				c, err := r.Canonical(nil)
				ok(t, err)
				bad := ofSubfile(t, r, c, "area", 0, gone)
				for rec := range int64(2) {
					bad = append(bad, ofSubfile(t, r, c, "T", rec, gone)...)
				}
				ok(t, r.Close())
				file := filepath.Join(dir, name)
				if remove {
					ok(t, os.Remove(file))
				} else {
					b, err := os.ReadFile(file)
					ok(t, err)
					b[bytes.Index(b, []byte("units"))] ^= 1
					ok(t, os.WriteFile(file, b, 0o666))
				}
				at, _, log := mountedAt(t, dir, nil)
				if info, err := os.Stat(filepath.Join(at, "a.nc")); err != nil || info.Size() != int64(len(want)) {
					t.Fatalf("%v without %s: %v", layout, name, err)
				}
				readsPages(t, filepath.Join(at, "a.nc"), want, bad)
				if !strings.Contains(log.String(), file) {
					t.Errorf("the log: %s", log)
				}
			}
		}
	}
}
