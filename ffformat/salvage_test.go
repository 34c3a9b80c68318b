package ffformat

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/testfiles"
)

// intact checks that a damaged file is refused, and that a reader with Lenient returns the true bytes of all
// variables.
func intact(t *testing.T, b []byte, l Layout, class error) {
	t.Helper()
	if f, err := decodeBytes(b, "", nil); err == nil || !errors.Is(err, class) {
		t.Errorf("%v: strict: %v, %v, want %v", l, f, err, class)
	}
	f, err := decodeBytes(b, "", &Options{Lenient: true})
	if err != nil || f.Damaged == nil || f.Layout != l {
		t.Errorf("%v: %v, %v", l, f, err)
		return
	}
	if !errors.Is(f.Damaged, class) {
		t.Errorf("%v: %v, want %v", l, f.Damaged, class)
	}
	if len(f.Vars()) != len(contentOf(six)) {
		t.Errorf("%v: %v", l, f.Vars())
	}
	r := newReader(bytes.NewReader(b), f)
	for id, w := range contentOf(six) {
		got := make([]byte, len(w))
		if err := r.ReadVar(t.Context(), id, got); err != nil || !bytes.Equal(got, w) {
			t.Errorf("%v: variable %d: %v", l, id, err)
		}
	}
}

// TestCutInFileBlock: in layouts C0 to F, all records are found if the file is cut within the file block.
func TestCutInFileBlock(t *testing.T) {
	for _, k := range kinds {
		if !k.layout.atEnd() || k.hash == Fast {
			continue
		}
		_, b := build(t, k.layout, k.hash, 512, six)
		at := len(b) - int(k.layout.fbSize())
		for n := at; n < len(b); n++ {
			l := k.layout
			if have := n - at; have < 77 && l == LayoutD {
				l = LayoutF // the bytes before the cut are the same; Decode takes the newest layout
			} else if have < 77 && l == LayoutC0 {
				l = LayoutC
			}
			if have := n - at; have < 85 && (k.layout == LayoutC || k.layout == LayoutD || k.layout == LayoutC0) {
				continue // without a whole file block, C and C0, and D and F, cannot be distinguished reliably
			}
			intact(t, b[:n], l, ErrTruncated)
		}
	}
}

// TestTail: all variables are readable if other bytes follow the file block.
func TestTail(t *testing.T) {
	for _, k := range kinds {
		_, b := build(t, k.layout, k.hash, 512, six)
		for _, n := range []int{1, 8, 106, 5000} {
			intact(t, append(bytes.Clone(b), make([]byte, n)...), k.layout, ErrCorrupt)
		}
	}
}

// TestFileBlockLost: all variables are readable if the file block is overwritten with zeros.
func TestFileBlockLost(t *testing.T) {
	for _, k := range kinds {
		f, b := build(t, k.layout, MD5, 512, six)
		clear(b[f.FileBlockOffset():][:k.layout.fbSize()])
		g, err := decodeBytes(b, "", &Options{Lenient: true})
		if err != nil || g.Damaged == nil || len(g.Blocks) != len(six) {
			t.Errorf("%v: %v, %v", k.name, g, err)
			continue
		}
		neverWrong(t, b, six)
		if fs := findings(t, b, "", nil); len(fs) == 0 || fs[0].Severity != Error {
			t.Errorf("%v: %v", k.name, fs)
		}
	}
}

// TestMyHash: if the hash of the file block is wrong, the error names the hash.
func TestMyHash(t *testing.T) {
	for _, k := range kinds {
		f, b := build(t, k.layout, k.hash, 512, six)
		b[f.FileBlockOffset()+myHashOff] ^= 1
		if k.hash != Fast { // TestFastDoubt tests Fast files
			intact(t, b, k.layout, ErrChecksum)
		}
		_, err := decodeBytes(b, "", nil)
		var fe *FormatError
		if !errors.As(err, &fe) || fe.Field != "FB.myHash" || fe.Offset != f.FileBlockOffset()+myHashOff {
			t.Error(err)
		}
	}
}

// TestEveryCut: a file truncated at any byte is refused, and no wrong bytes are read.
func TestEveryCut(t *testing.T) {
	for _, k := range kinds {
		specs := seven
		if k.layout == LayoutF || k.layout == LayoutB {
			specs = six
		}
		_, b := build(t, k.layout, k.hash, 512, specs)
		for n := 0; n < len(b); n += 1 + n%131*crashtest.Times(4, 1) {
			if _, err := decodeBytes(b[:n], "", nil); err == nil && k.layout != LayoutB {
				t.Errorf("%s: %d of %d bytes decode", k.name, n, len(b))
			}
			neverWrong(t, b[:n], specs)
			for fi := range Check(t.Context(), bytes.NewReader(b[:n]), int64(n), "", nil) {
				_ = fi.String()
			}
		}
	}
}

// TestCutInline: in A and B the variables before the cut are readable, and the error names the others.
func TestCutInline(t *testing.T) {
	for _, l := range []Layout{LayoutA, LayoutB} {
		f, b := build(t, l, MD5, 0, six)
		cut := b[:f.at(4, 1).Fptr+3]
		bad := badVars(findings(t, cut, "", nil))
		if len(bad) != 1 || bad[0] != 3 {
			t.Errorf("%v: bad %v, want 3", l, bad)
		}
		if n := readGood(t, cut, "", []int32{3}); n != 4 {
			t.Errorf("%v: %d variables can be read", l, n)
		}
	}
}

// failing is a reader that fails from some byte on.
type failing struct {
	b  []byte
	at int64
}

var errDisk = errors.New("disk")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.at {
		return 0, errDisk
	}
	return bytes.NewReader(f.b).ReadAt(p, off)
}

// TestReadErrors: errors of the reader at any byte are returned unchanged.
func TestReadErrors(t *testing.T) {
	for _, k := range kinds {
		_, b := build(t, k.layout, k.hash, 512, seven)
		for at := int64(0); at < int64(len(b)); at += 101 {
			if _, err := NewReader(failing{b, at}, int64(len(b)), "", &Options{Lenient: true}); k.layout.atEnd() && !errors.Is(err, errDisk) {
				t.Errorf("%s: %v", k.name, err)
			}
			found := false
			for fi := range Check(t.Context(), failing{b, at}, int64(len(b)), "", nil) {
				found = found || errors.Is(fi.Err, errDisk)
			}
			if !found {
				t.Errorf("%s: no finding of an error at %d", k.name, at)
			}
		}
	}
	if _, err := Decode(io.NewSectionReader(bytes.NewReader(nil), 0, 0), 5000, "", nil); !errors.Is(err, ErrTruncated) {
		t.Error(err) // the reader returned fewer bytes than its size
	}
}

// TestLooksLikeRecords: bytes of another format that look like records, but have no data, are refused.
func TestLooksLikeRecords(t *testing.T) {
	for name, at := range map[string][]int{"no room": {225}, "hashes": {225, 225 + 40}, "room": {225, 225 + 4, 225 + 36, 225 + 44}} {
		b := make([]byte, 8192)
		for _, i := range at {
			b[i] = 1
		}
		for _, o := range []*Options{nil, {Lenient: true}} {
			if f, err := decodeBytes(b, "", o); !errors.Is(err, ErrNotFormat) {
				t.Errorf("%s: %+v, %v", name, f, err)
			}
		}
	}
	for _, c := range []string{"f", "g", "i"} {
		for _, ext := range []string{"h5", "nc4"} {
			b, err := os.ReadFile(testfiles.Captured(t, "maps", "map_"+c+"_case_16p."+ext))
			must(t, err)
			if f, err := decodeBytes(b, "", &Options{Lenient: true}); !errors.Is(err, ErrNotFormat) {
				t.Errorf("%s.%s: %+v, %v", c, ext, f, err)
			}
		}
	}
}
