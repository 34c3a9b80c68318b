//go:build !386 && !arm

package parfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"blobio/blob"
	"blobio/internal/view/mount"
	"blobio/internal/view/serve"
)

// TestMountAndServe: a machine shows the dataset of another machine as a file, by a mount and over HTTP, with the bytes of Convert. When it is replaced,
// both show the new one; who had the old one open reads that, or an error.
func TestMountAndServe(t *testing.T) {
	each(t, func(t *testing.T, s *system) {
		dir := s.folder(t)
		must(t, write(filepath.Join(dir[0], "d.nc"), 1, nil))
		name := filepath.Join(dir[1], "d.nc")
		must(t, until(func() error { _, err := read(name); return err }))
		old := converted(t, name)

		at := t.TempDir()
		m, err := mount.New(dir[1], at, nil)
		must(t, err)
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			must(t, m.Unmount(ctx))
		}()
		server, err := serve.New(dir[1], nil)
		must(t, err)
		h := httptest.NewServer(server)
		defer func() {
			h.Close()
			must(t, server.Close())
		}()
		ways := map[string]func() ([]byte, error){
			"mount": func() ([]byte, error) { return os.ReadFile(filepath.Join(at, "d.nc")) },
			"serve": func() ([]byte, error) {
				resp, err := http.Get(h.URL + "/files/d.nc")
				if err != nil {
					return nil, err
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err == nil && resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s: %s", resp.Status, b)
				}
				return b, err
			},
		}
		for way, get := range ways {
			if b, err := get(); err != nil || !bytes.Equal(b, old) {
				t.Errorf("%s: %d bytes, want %d: %v", way, len(b), len(old), err)
			}
		}
		f, err := os.Open(filepath.Join(at, "d.nc"))
		must(t, err)
		defer f.Close()

		must(t, write(filepath.Join(dir[0], "d.nc"), 2, nil))
		must(t, until(func() error {
			if v, err := read(name); err != nil || v != 2 {
				return fmt.Errorf("value %d: %v", v, err)
			}
			return nil
		}))
		now := converted(t, name)
		if bytes.Equal(now, old) {
			t.Fatal("both datasets are the same")
		}
		for way, get := range ways {
			must(t, until(func() error { // the kernel caches names for a second
				b, err := get()
				if err != nil {
					return fmt.Errorf("%s: %w", way, err)
				}
				if bytes.Equal(b, now) {
					return nil
				}
				if !bytes.Equal(b, old) {
					t.Fatalf("%s: %d bytes that are of neither dataset", way, len(b))
				}
				return errors.New(way + ": the old dataset")
			}))
		}
		if b, err := io.ReadAll(f); err == nil && !bytes.Equal(b, old) {
			t.Errorf("a file that was open has %d bytes that are not the old ones", len(b))
		}
	})
}

// converted returns the output of Convert for a dataset.
func converted(t *testing.T, name string) []byte {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	must(t, err)
	defer r.Close()
	out := filepath.Join(t.TempDir(), "out.nc")
	must(t, blob.Convert(t.Context(), r, out, &blob.ConvertOptions{Durability: blob.DurableNone}))
	b, err := os.ReadFile(out)
	must(t, err)
	return b
}
