package redset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/crccat"
	"blobio/internal/vfs"
	"blobio/scr/kvtree"
)

// zeros is a file system whose one file has many bytes, all zero, that no memory holds.
type zeros struct {
	vfs.FS
	size int64
}

type zeroFile struct {
	vfs.File
	size int64
}

type zeroInfo struct {
	fs.FileInfo
	size int64
}

func (z zeros) Stat(name string) (fs.FileInfo, error) {
	st, err := z.FS.Stat(name)
	if err == nil && name == "big" {
		st = zeroInfo{st, z.size}
	}
	return st, err
}

func (z zeros) Open(name string) (vfs.File, error) {
	f, err := z.FS.Open(name)
	if err == nil && name == "big" {
		f = zeroFile{f, z.size}
	}
	return f, err
}

func (z zeroInfo) Size() int64 { return z.size }

func (z zeroFile) Size() (int64, error) { return z.size, nil }

func (z zeroFile) ReadAt(b []byte, off int64) (int, error) {
	n := min(int64(len(b)), max(z.size-off, 0))
	clear(b[:n])
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// TestDefect12Large: files over 4 GiB have right lengths and checksums, positions of chunks do not wrap, and a header
// that would be too long for its checksum is an error.
func TestDefect12Large(t *testing.T) {
	const size = 1<<32 + 5
	m := vfs.NewMem()
	if err := vfs.WriteFile(m, "big", nil); err != nil {
		t.Fatal(err)
	}
	fsys := zeros{m, size}
	err := run(t, "shared", 1, func(ctx context.Context, c comm.Comm) error {
		s, err := New(ctx, c, Options{Scheme: Single})
		if err != nil {
			return err
		}
		if err := s.Encode(ctx, fsys, []string{"big"}, "rs."); err != nil {
			return err
		}
		if got, want := s.Sums()["big"], crccat.Zeros(size); got != want {
			t.Errorf("checksum %#x, want %#x", got, want)
		}
		all, err := list(fsys, "rs.")
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%v %w", all, err)
		}
		h, err := readHeader(fsys, all[0])
		if err == nil && h.descs[0].size() != size {
			t.Errorf("%d bytes, want %d", h.descs[0].size(), int64(size))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	const huge = 3 << 40
	l := newLayout(RS, 2, [][]int64{{huge}, {huge + 1, huge}, {7}, {}, {huge}})
	if want := int64((2*huge + 1 + 2) / 3); l.chunk != want || l.payload(3) != 2*want {
		t.Errorf("chunk %d, payload %d, want %d", l.chunk, l.payload(3), want)
	}
	for c := range l.stripes() {
		for _, e := range l.elems(c) {
			if e.off < 0 || e.off%l.chunk != 0 || e.off > 2*l.chunk {
				t.Errorf("stripe %d: %+v", c, e)
			}
		}
	}

	tr := kvtree.New()
	put(tr, strings.Repeat("x", maxHeader), "FILE")
	if _, err := encodeTree(tr); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}
