package ffformat

import (
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// kinds are all layouts with MD5, and layout F with Fast.
var kinds = []struct {
	name   string
	layout Layout
	hash   Hash
}{
	{"A", LayoutA, MD5}, {"B", LayoutB, MD5}, {"C0", LayoutC0, MD5}, {"C", LayoutC, MD5}, {"D", LayoutD, MD5}, {"E", LayoutE, MD5}, {"F", LayoutF, MD5}, {"Fast", LayoutF, Fast},
}

// sound checks that b decodes to want, encodes to itself, has only notes as findings, and has readable variables.
func sound(t rapid.TB, want *File, b []byte) {
	t.Helper()
	f, err := decodeBytes(b, "", nil)
	must(t, err)
	if want.Layout == LayoutC && len(want.Blocks) == 0 {
		want.Layout = LayoutD // without records, layouts C and D cannot be distinguished
	}
	if !reflect.DeepEqual(want, f) {
		t.Fatal(cmp.Diff(want, f, cmp.AllowUnexported(Container{})))
	}
	pieces, err := f.encode()
	must(t, err)
	for _, p := range pieces {
		if !bytes.Equal(p.Data, b[p.Off:][:len(p.Data)]) {
			t.Fatalf("other bytes at %d", p.Off)
		}
	}
	for fi := range Check(context.Background(), bytes.NewReader(b), int64(len(b)), "", nil) {
		if fi.Severity != fault.Note {
			t.Error(fi)
		}
	}
	r := newReader(bytes.NewReader(b), f)
	for _, v := range f.Vars() {
		got := make([]byte, v.Size)
		must(t, r.ReadVar(context.Background(), v.ID, got))
		var whole []byte
		for _, c := range f.Containers(v.ID) {
			if c.HasContent {
				p := make([]byte, c.ChunkSize)
				fill(p, c.ID, c.ContainerID)
				whole = append(whole, p...)
			}
		}
		if !bytes.Equal(got, whole) {
			t.Fatalf("variable %d: other bytes", v.ID)
		}
	}
}

func TestLayouts(t *testing.T) {
	many := make([][]spec, 3)
	for i := range int32(crashtest.Times(100, 700)) {
		many[0] = append(many[0], spec{i, int64(i % 37), int64(i % 37)})
		many[1] = append(many[1], spec{-1 - i, 8, 5})
		many[2] = append(many[2], spec{i, 3, 2})
	}
	for i, k := range kinds {
		for name, specs := range map[string][][]spec{
			"six": six, "seven": seven, "many": many, "none": nil,
			"one":       {{{0, 1, 1}}},
			"zero":      {{{7, 0, 0}, {8, 12, 12}, {9, 0, 0}}},
			"zero only": {{{7, 0, 0}}},
			"zero grew": {{{7, 0, 0}, {8, 12, 12}}, {{7, 100, 31}}},
			"no bytes":  {{{7, 0, -1}, {8, 12, 12}}, {{7, 9, 9}}},
			"emptied":   {{{7, 50, 0}, {8, 12, 12}}, {{7, 100, -1}}},
			"large":     {{{7, 5 << 20, 5<<20 - 77}, {8, 1 << 20, 1 << 20}}},
		} {
			if !crashtest.Long() && name == "large" && i%4 != 0 {
				continue
			}
			t.Run(k.name+"/"+name, func(t *testing.T) {
				f, b := build(t, k.layout, k.hash, 4096, specs)
				sound(t, f, b)
			})
		}
	}
}

// TestRandomFiles: files made by the growth rule are sound, whatever the sizes of the variables.
func TestRandomFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(rt, "kind")
		f, b := build(rt, k.layout, k.hash, rapid.SampledFrom([]int{512, 777, 4096}).Draw(rt, "bs"), drawSpecs(rt))
		sound(rt, f, b)
	})
}

// drawSpecs draws random containers for some variables. Each variable fills its containers up to a random byte.
func drawSpecs(rt *rapid.T) [][]spec {
	n := rapid.IntRange(1, 6).Draw(rt, "variables")
	left := make([]int64, n)
	for i := range left {
		left[i] = rapid.Int64Range(0, 5000).Draw(rt, "size")
	}
	var specs [][]spec
	seen := make([]bool, n)
	for range rapid.IntRange(1, 5).Draw(rt, "blocks") {
		var b []spec
		for i := range n {
			if !rapid.Bool().Draw(rt, "in") {
				continue
			}
			room := rapid.Int64Range(0, 2000).Draw(rt, "room")
			if seen[i] {
				room++ // only the first container of a variable can have size 0
			}
			s := spec{int32(i), room, min(room, left[i])}
			if left[i] -= s.chunk; seen[i] && s.chunk == 0 {
				s.chunk = -1
			}
			seen[i] = true
			b = append(b, s)
		}
		if b != nil {
			specs = append(specs, b)
		}
	}
	return specs
}

// TestParityOfLayouts: the file block of a parity file is at the end in every layout.
func TestParityOfLayouts(t *testing.T) {
	for l := LayoutA; l <= LayoutF; l++ {
		n := int64(1000)
		f := &File{Layout: l, Size: n + l.fbSize(), Parity: true}
		f.FB.FileSize, f.FB.MaxFs, f.FB.PtFs, f.FB.CkptSize = n, n, -1, 900
		b := make([]byte, f.Size)
		fill(b[:n], 1, 1)
		must(t, f.seal(md5Hex(b[:n])))
		put(t, f, b)
		g, err := decodeBytes(b, "", nil)
		if err != nil || !g.Parity || (g.Layout != l && l != LayoutC) {
			t.Errorf("%v: %+v, %v", l, g, err)
			continue
		}
		if fs := findings(t, b, "", nil); len(fs) != 0 {
			t.Errorf("%v: %v", l, fs)
		}
		b[500] ^= 1
		if fs := findings(t, b, "", nil); len(fs) != 1 || !errors.Is(fs[0].Err, ErrChecksum) {
			t.Errorf("%v: %v", l, fs)
		}
	}
}

// bigFile reads as zeros except for its end.
type bigFile struct {
	size int64
	tail []byte
}

func (b bigFile) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if from := b.size - int64(len(b.tail)); off+int64(len(p)) > from {
		for i := range p {
			if at := off + int64(i) - from; at >= int64(len(b.tail)) {
				return i, io.EOF
			} else if at >= 0 {
				p[i] = b.tail[at]
			}
		}
	}
	return len(p), nil
}

// TestOver2GiB: layouts with 64-bit sizes hold more than 2 GiB, and layout E returns an error for such sizes.
func TestOver2GiB(t *testing.T) {
	specs := [][]spec{{{1, 1 << 30, 1 << 30}, {2, 1 << 30, 1 << 30}}, {{1, 1 << 30, 1 << 30}}}
	f := layOut(LayoutF, specs)
	must(t, f.seal(readerChecksum(f.Blocks)))
	meta, err := f.encodeMeta()
	must(t, err)
	r, err := NewReader(bigFile{f.Size, meta}, f.Size, "", nil)
	must(t, err)
	if v := r.File().Vars(); v[0].Size != 2<<30 {
		t.Error(v)
	}
	if n, err := r.readAt(1, make([]byte, 8), 2<<30-8, nil); n != 8 || err != nil {
		t.Error(n, err)
	}

	f = layOut(LayoutE, specs)
	if _, err := f.encode(); !errors.Is(err, fault.ErrRange) {
		t.Errorf("E over 2 GiB: %v", err)
	}
	// FTI v1.6 would write only the low 32 bits.
	low := func(v int64) int64 { return int64(int32(v)) }
	size := f.Size
	f.FB.CkptSize, f.FB.FileSize, f.FB.DataSize = low(f.FB.CkptSize), low(f.FB.FileSize), low(f.FB.DataSize)
	for i := range f.Blocks {
		f.Blocks[i].Size = low(f.Blocks[i].Size)
	}
	must(t, f.seal(readerChecksum(f.Blocks)))
	if meta, err = f.encodeMeta(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReader(bigFile{size, meta}, size, "", nil); !errors.Is(err, fault.ErrRange) {
		t.Errorf("E over 2 GiB: %v", err)
	}
	if r, err = NewReader(bigFile{size, meta}, size, "", &Options{Lenient: true}); err != nil || r.File().Damaged == nil {
		t.Fatal(err)
	}
	if n, err := r.readAt(1, make([]byte, 8), 2<<30-8, nil); n != 8 || err != nil {
		t.Error(n, err)
	}
	n := 0
	for fi := range Check(t.Context(), bigFile{size, meta}, size, "", &Options{Quick: true}) {
		if fi.Severity == fault.Note {
			continue
		}
		if n++; !errors.Is(fi.Err, fault.ErrRange) {
			t.Error(fi)
		}
	}
	if n != 1 {
		t.Errorf("%d findings", n)
	}
}

func TestBigEndian(t *testing.T) {
	f, b := build(t, LayoutF, MD5, 0, six)
	at := f.Size - f.Layout.fbSize()
	tb := &f.Layout.table().fb
	for _, s := range []span{tb.ckptSize, tb.metaSize, tb.dataSize, tb.fs, tb.maxFs, tb.ptFs, tb.timestamp} {
		v := s.bytes(b[at:])
		for i := range len(v) / 2 {
			v[i], v[len(v)-1-i] = v[len(v)-1-i], v[i]
		}
	}
	h := hashFB(f.Layout, b[at:])
	copy(b[at+myHashOff:], h[:])
	if _, err := decodeBytes(b, "", &Options{Lenient: true}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "big-endian") {
		t.Error(err)
	}
}
