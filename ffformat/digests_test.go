package ffformat

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"blobio/internal/vfs"
)

func FuzzUnmarshalDigests(f *testing.F) {
	d := (&Digests{CkptID: 3, Timestamp: 5, BlockSize: 512, chunks: []chunkDigests{{1, 0, 600, Digest{1}, make([]byte, 32)}, {2, 0, 0, Digest{}, nil}}}).index()
	b, _ := d.MarshalBinary()
	f.Add(b)
	f.Add(b[:40])
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := UnmarshalDigests(b, "f")
		if err != nil {
			var fe *FormatError
			if !errors.As(err, &fe) {
				t.Fatal(err)
			}
			return
		}
		if c, err := d.MarshalBinary(); err != nil || !bytes.Equal(b, c) {
			t.Fatalf("%v: written again %x, was %x", err, c, b)
		}
	})
}

// TestDigestsNegative: every single byte of the side data is covered.
func TestDigestsNegative(t *testing.T) {
	d := &Digests{CkptID: 3, Timestamp: 5, BlockSize: 512, chunks: []chunkDigests{{1, 0, 600, Digest{1}, make([]byte, 32)}}}
	b, _ := d.MarshalBinary()
	for i := range b {
		for _, x := range []byte{1, 0x80} {
			c := bytes.Clone(b)
			c[i] ^= x
			if _, err := UnmarshalDigests(c, "f"); err == nil {
				t.Fatalf("byte %d is not covered", i)
			}
		}
		if _, err := UnmarshalDigests(b[:i], "f"); err == nil {
			t.Fatalf("cut at %d", i)
		}
	}
}

// TestCRC32Risk measures what AllowCRC32 accepts: a change by a multiple of the
// generator keeps the CRC, and the file then holds the old block; the verification by MD5 finds
// it. XXH3 sees the change.
func TestCRC32Risk(t *testing.T) {
	ctx := context.Background()
	for _, dirty := range []Dirty{DirtyCRC32, DirtyFast, DirtyMD5} {
		w, err := NewWriter(&WriterOptions{Dirty: dirty, AllowCRC32: true, BlockSize: 512})
		must(t, err)
		s := newSlot(t, vfs.NewMem(), "f")
		data := make([]byte, 1024)
		var prev *Digests
		for range 2 {
			u, err := w.Begin(s.f, UpdateOptions{Prev: prev})
			must(t, err)
			must(t, u.Add(ctx, 1, data))
			res, err := u.Finish(ctx)
			must(t, err)
			prev = res.Digests
			// The polynomial 0x104C11DB7, bits reflected, over five bytes.
			for i, x := range []byte{0x41, 0x06, 0x71, 0xdb, 0x01} {
				data[100+i] ^= x
			}
		}
		for i, x := range []byte{0x41, 0x06, 0x71, 0xdb, 0x01} {
			data[100+i] ^= x // as it was at the second update
		}
		size, _ := s.f.Size()
		r, err := NewReader(s.f, size, "f", nil)
		must(t, err)
		got := make([]byte, 1024)
		err = r.ReadVar(ctx, 1, got)
		if stale := !bytes.Equal(got, data); stale != (dirty == DirtyCRC32) {
			t.Errorf("%v: stale block: %v (%v)", dirty, stale, err)
		}
	}
}
