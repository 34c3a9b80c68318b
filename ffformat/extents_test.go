package ffformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/internal/vfs"

	"pgregory.net/rapid"
)

// sketch writes extents as "0+400 content 1, ...".
func sketch(list []Extent) string {
	var s []string
	for _, e := range list {
		t := fmt.Sprintf("%d+%d %v", e.Off, e.Len, e.Kind)
		if e.Container >= 0 {
			t += fmt.Sprintf(" %d", e.ID)
		}
		s = append(s, t)
	}
	return strings.Join(s, ", ")
}

func TestExtents(t *testing.T) {
	one := func(id int32, fptr, chunk, room int64) Container {
		return Container{ID: id, HasContent: chunk > 0, Fptr: fptr, ChunkSize: chunk, ContainerSize: room}
	}
	end := func(size int64, list ...Container) *File {
		f := &File{Layout: LayoutF, Size: size}
		var data int64
		for _, c := range list {
			data += c.ContainerSize
		}
		f.FB.DataSize = data
		f.Blocks = []Block{{Offset: data, Size: data, Containers: list}}
		return f
	}
	meta := 12 + 2*58 + 106
	for _, c := range []struct {
		name string
		f    *File
		want string
	}{
		{"full", end(int64(300+meta), one(1, 0, 100, 100), one(2, 100, 200, 200)),
			"0+100 content 1, 100+200 content 2, 300+128 metadata, 428+106 metadata"},
		{"shrunk", end(int64(300+meta), one(1, 0, 60, 100), one(2, 100, 0, 200)),
			"0+60 content 1, 60+40 empty 1, 100+200 empty 2, 300+128 metadata, 428+106 metadata"},
		{"overlap", end(int64(300+meta), one(1, 0, 150, 150), one(2, 100, 150, 150)),
			"0+100 content 1, 100+50 overlap 1, 150+100 content 2, 250+50 gap, 300+128 metadata, 428+106 metadata"},
		{"cut", end(250, one(1, 0, 100, 100), one(2, 100, 200, 200)),
			"0+100 content 1, 100+150 content 2, 250+50 lost 2, 300+128 lost, 428+106 lost"},
		{"nonsense", end(int64(meta), one(1, -5, 100, 100), one(2, 1<<62, 1<<62, 1<<62)), ""},
		{"nothing", &File{Layout: LayoutF, Size: 106}, "0+106 metadata"},
		{"parity", &File{Layout: LayoutF, Size: 1106, Parity: true}, "0+1000 parity, 1000+106 metadata"},
		{"inline", &File{Layout: LayoutA, Size: 272, Blocks: []Block{{Offset: 96, Size: 176, Containers: []Container{one(1, 172, 90, 100)}}}},
			"0+96 metadata, 96+76 metadata, 172+90 content 1, 262+10 empty 1"},
	} {
		got := sketch(c.f.Extents())
		if c.want != "" && got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Whatever the records say, extents are in order and without holes.
func TestExtentsCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{Layout: rapid.SampledFrom(Layouts()).Draw(t, "layout"), Size: rapid.Int64Range(0, 2000).Draw(t, "size")}
		n := rapid.IntRange(0, 8).Draw(t, "n")
		b := Block{Offset: rapid.Int64Range(-10, 2000).Draw(t, "at")}
		for i := range n {
			b.Containers = append(b.Containers, Container{ID: int32(i), HasContent: rapid.Bool().Draw(t, "has"),
				Fptr: rapid.Int64Range(-10, 1500).Draw(t, "fptr"), ChunkSize: rapid.Int64Range(-10, 600).Draw(t, "chunk"),
				ContainerSize: rapid.Int64Range(-10, 600).Draw(t, "room")})
		}
		f.Blocks = []Block{b}
		list := f.Extents()
		at := int64(0)
		for _, e := range list {
			if e.Off != at || e.Len <= 0 || (e.Kind == ExtentLost) != (e.Off >= f.Size) || e.Off < f.Size && e.End() > f.Size {
				t.Fatalf("%s of a file of %d bytes", sketch(list), f.Size)
			}
			at = e.End()
		}
		if at < f.Size {
			t.Fatalf("the extents end at %d, the file has %d bytes", at, f.Size)
		}
		var sum int64
		for _, n := range Usage(list) {
			sum += n
		}
		if sum != at {
			t.Fatalf("usage %d of %d", sum, at)
		}
	})
}

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
