package ffformat

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

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

// TestExtentsCover: for any records, extents are in order and without holes.
func TestExtentsCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{Layout: Layout(rapid.IntRange(int(LayoutA), int(LayoutF)).Draw(t, "layout")), Size: rapid.Int64Range(0, 2000).Draw(t, "size")}
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
			if e.Off != at || e.Len <= 0 || (e.Kind == extentLost) != (e.Off >= f.Size) || e.Off < f.Size && e.End() > f.Size {
				t.Fatalf("%s of a file of %d bytes", sketch(list), f.Size)
			}
			at = e.End()
		}
		if at < f.Size {
			t.Fatalf("the extents end at %d, the file has %d bytes", at, f.Size)
		}
		var sum int64
		for _, n := range usage(list) {
			sum += n
		}
		if sum != at {
			t.Fatalf("usage %d of %d", sum, at)
		}
	})
}

func FuzzUnmarshalDigests(f *testing.F) {
	d := (&Digests{CkptID: 3, Timestamp: 5, BlockSize: 512, chunks: []chunkDigests{{1, 0, 600, digest{1}, make([]byte, 32)}, {2, 0, 0, digest{}, nil}}}).index()
	b := d.Marshal()
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
		if c := d.Marshal(); !bytes.Equal(b, c) {
			t.Fatalf("written again %x, was %x", c, b)
		}
	})
}

// TestDigestsNegative: UnmarshalDigests detects any changed byte.
func TestDigestsNegative(t *testing.T) {
	d := &Digests{CkptID: 3, Timestamp: 5, BlockSize: 512, chunks: []chunkDigests{{1, 0, 600, digest{1}, make([]byte, 32)}}}
	b := d.Marshal()
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

// usage sums the bytes of extents by kind.
func usage(extents []Extent) map[string]int64 {
	sum := map[string]int64{}
	for _, e := range extents {
		sum[e.Kind] += e.Len
	}
	return sum
}
