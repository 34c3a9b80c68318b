//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/blob"
	"blobio/cdf5"
)

// TestHeaderCached: whoever opens a dataset finds its header in the cache of the kernel, and nothing else. What the cache loses is read again.
func TestHeaderCached(t *testing.T) {
	for _, l := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		dir := t.TempDir()
		src := filepath.Join(dir, "a.nc")
		write(t, src, 1, 2, blob.Options{Layout: l})
		want := converted(t, src, cdf5.CDF5)
		at, _, log := mountedAt(t, dir, nil)
		f, err := os.Open(filepath.Join(at, "a.nc"))
		ok(t, err)
		defer f.Close()
		var st unix.Cachestat_t
		switch err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &st, 0); {
		case err != nil:
			t.Logf("what is in the cache cannot be told here: %v", err)
		case st.Cache != 1:
			t.Errorf("%v: %d pages are in the cache once it is open, want that of the header", l, st.Cache)
		}
		page := make([]byte, os.Getpagesize())
		for range 2 {
			_, err := f.ReadAt(page, 0)
			ok(t, err)
			if !bytes.Equal(page, want[:len(page)]) {
				t.Errorf("%v: the first page is not that of the converted file", l)
			}
			ok(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
		}
		got, err := io.ReadAll(f)
		ok(t, err)
		if !bytes.Equal(got, want) || log.String() != "" {
			t.Errorf("%v: not the converted file (%s)", l, log)
		}
	}
}
