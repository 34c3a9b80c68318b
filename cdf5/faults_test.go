package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"blobio/cdf5"
)

// patch overwrites bytes of b, given as hex digits, at an offset.
type patch struct {
	at  int
	hex string
}

// TestFaults damages one field of a valid file at a time. Offsets refer to the annotated files in testdata.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		file    string
		name    string
		patches []patch
		offset  int64 // offset of the field in the error
		field   string
		class   error
	}{
		{"cdf1", "magic", []patch{{0, "434446 41"}}, 3, "magic", cdf5.ErrVersion},
		{"cdf1", "version 4", []patch{{3, "04"}}, 3, "magic", cdf5.ErrVersion},
		{"cdf1", "another format", []patch{{0, "50"}}, 0, "magic", cdf5.ErrNotFormat},
		{"cdf1", "HDF5", []patch{{0, "89484446 0d0a1a0a"}}, 0, "magic", cdf5.ErrUnsupported},
		{"cdf1", "dim_list tag", []patch{{8, "0000000c"}}, 8, "dim_list tag", cdf5.ErrCorrupt},
		{"cdf1", "entries after ABSENT", []patch{{8, "00000000"}}, 0xc, "dim_list nelems", cdf5.ErrCorrupt},
		{"cdf1", "absurd number of dims", []patch{{0xc, "7fffffff"}}, 0xc, "dim_list nelems", cdf5.ErrTruncated},
		{"cdf1", "empty name", []patch{{0x10, "00000000"}}, 0x14, "dim[0] name", cdf5.ErrCorrupt},
		{"cdf1", "absurd name length", []patch{{0x10, "ffffffff"}}, 0x10, "dim[0] name length", cdf5.ErrTruncated},
		{"cdf1", "control character", []patch{{0x14, "1f"}}, 0x14, "dim[0] name", cdf5.ErrCorrupt},
		{"cdf1", "second unlimited", []patch{{0x24, "00000000"}}, 0x24, `dim "cell" length`, cdf5.ErrCorrupt},
		{"cdf1", "dim length of 2^31", []patch{{0x24, "80000000"}}, 0x24, `dim "cell" length`, cdf5.ErrCorrupt},
		{"cdf2", "dim length of 2^32-1", []patch{{0x24, "ffffffff"}}, 0x24, `dim "cell" length`, cdf5.ErrCorrupt},
		{"cdf1", "dim twice", []patch{{0x1c, "00000001 74000000 00000003"}}, 0x1c, "dim[1] name", cdf5.ErrCorrupt},
		{"cdf1", "attribute type of CDF-5", []patch{{0x3c, "00000007"}}, 0x3c, "global att title type", cdf5.ErrCorrupt},
		{"cdf1", "attribute type 0", []patch{{0x3c, "00000000"}}, 0x3c, "global att title type", cdf5.ErrCorrupt},
		{"cdf1", "absurd attribute length", []patch{{0x40, "fffffff0"}}, 0x40, "global att title nelems", cdf5.ErrTruncated},
		{"cdf1", "var_list tag", []patch{{0x48, "0000000a"}}, 0x48, "var_list tag", cdf5.ErrCorrupt},
		{"cdf1", "absurd number of vars", []patch{{0x4c, "0fffffff"}}, 0x4c, "var_list nelems", cdf5.ErrTruncated},
		{"cdf1", "absurd number of dimids", []patch{{0x58, "7fffffff"}}, 0x58, `var "mask" ndims`, cdf5.ErrTruncated},
		{"cdf1", "dimid", []patch{{0x5c, "00000002"}}, 0x5c, `var "mask" dimid[0]`, cdf5.ErrCorrupt},
		{"cdf1", "unlimited dim is not first", []patch{{0xb4, "00000001 00000000"}}, 0xb8, `var "u" dimid[1]`, cdf5.ErrCorrupt},
		{"cdf1", "type 12", []patch{{0x68, "0000000c"}}, 0x68, `var "mask" type`, cdf5.ErrCorrupt},
		{"cdf1", "begin in the header", []patch{{0x70, "000000cc"}}, 0x70, `var "mask" begin`, cdf5.ErrCorrupt},
		{"cdf1", "begin < 0", []patch{{0x70, "800000d0"}}, 0x70, `var "mask" begin`, cdf5.ErrCorrupt},
		{"cdf1", "begin inside another variable", []patch{{0xa4, "000000d0"}}, 0xa4, `var "p0" begin`, cdf5.ErrCorrupt},
		{"cdf1", "fixed variable behind the records", []patch{{0x70, "000000f0"}}, 0xcc, `var "u" begin`, cdf5.ErrCorrupt},
		{"cdf1", "records inside a fixed variable", []patch{{0xcc, "000000d8"}}, 0xcc, `var "u" begin`, cdf5.ErrCorrupt},
		{"cdf5", "numrecs < 0", []patch{{4, "fffffffffffffffe"}}, 4, "numrecs", cdf5.ErrCorrupt},
		{"cdf5", "numrecs past 2^63", []patch{{4, "7fffffffffffffff"}}, 4, "numrecs", cdf5.ErrCorrupt},
		{"cdf5", "absurd number of dims", []patch{{0x10, "7fffffffffffffff"}}, 0x10, "dim_list nelems", cdf5.ErrTruncated},
		{"cdf5", "number of dims < 0", []patch{{0x10, "ffffffffffffffff"}}, 0x10, "dim_list nelems", cdf5.ErrCorrupt},
		{"cdf5", "absurd name length", []patch{{0x18, "7ffffffffffffffd"}}, 0x18, "dim[0] name length", cdf5.ErrTruncated},
		{"cdf5", "dim length past 2^63-4", []patch{{0x38, "7fffffffffffffff"}}, 0x38, `dim "cell" length`, cdf5.ErrCorrupt},
		{"cdf5", "size past 2^63", []patch{{0x38, "7ffffffffffffff0"}}, 0, `var "u" type`, cdf5.ErrCorrupt},
	} {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			b := golden(t, c.file)
			for _, p := range c.patches {
				x := need(hex.DecodeString(strings.ReplaceAll(p.hex, " ", "")))
				copy(b[p.at:], x)
			}
			_, _, err := decode(b, &cdf5.DecodeOptions{File: "bad.nc", Base: 1000})
			var fe *cdf5.FormatError
			if !errors.As(err, &fe) || !errors.Is(err, c.class) {
				t.Fatalf("%v, want %v", err, c.class)
			}
			if fe.Field != c.field || (c.offset != 0 && fe.Offset != 1000+c.offset) || fe.File != "bad.nc" || fe.Msg == "" {
				t.Errorf("%v: offset %#x, want %#x of %q", fe, fe.Offset-1000, c.offset, c.field)
			}
		})
	}
}

// TestNotes: Note is called for each tolerated deviation from the format.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		name  string
		patch patch
		field string
	}{
		{"pad of a name", patch{0x15, "010203"}, "dim[0] name"},
		{"pad of text", patch{0x46, "ff"}, "global att title values"},
		{"vsize", patch{0x6c, "00000003"}, `var "mask" vsize`},
		{"empty list with a tag", patch{0x60, "0000000c"}, `var "mask" att_list tag`},
		{"name with an odd start", patch{0x14, "2d"}, "dim[0] name"},
		{"Latin-1 name", patch{0x14, "e9"}, "dim[0] name"},
	} {
		b := golden(t, "cdf1")
		x, _ := hex.DecodeString(c.patch.hex)
		copy(b[c.patch.at:], x)
		var notes []*cdf5.FormatError
		h, _, err := decode(b, &cdf5.DecodeOptions{Note: func(e *cdf5.FormatError) { notes = append(notes, e) }})
		if err != nil || len(notes) != 1 || notes[0].Field != c.field || notes[0].Offset/4 != int64(c.patch.at/4) {
			t.Errorf("%s: %v, notes %v", c.name, err, notes)
			continue
		}
		if _, err := h.AppendTo(nil, binary.BigEndian, false); err != nil {
			t.Errorf("%s: cannot be encoded: %v", c.name, err)
		}
	}
}

func TestTruncatedAnywhere(t *testing.T) {
	for _, name := range []string{"cdf1", "cdf2", "cdf5"} {
		b := golden(t, name)
		_, n, err := decode(b, nil)
		must(err)
		for i := range n {
			_, _, err := decode(b[:i], nil)
			var fe *cdf5.FormatError
			if !errors.Is(err, cdf5.ErrTruncated) || !errors.As(err, &fe) || fe.Offset > i || fe.Field == "" {
				t.Fatalf("%s: %d of %d bytes: %v", name, i, n, err)
			}
			// The size argument is too large: the data end before this size.
			_, _, err = cdf5.DecodeHeader(bytes.NewReader(b[:i]), 1<<40, nil)
			if !errors.Is(err, cdf5.ErrTruncated) {
				t.Fatalf("%s: %d bytes of a claimed 2^40: %v", name, i, err)
			}
		}
		if _, _, err := decode(b[:n], nil); err != nil {
			t.Errorf("%s: a header without data: %v", name, err)
		}
	}
}

// zeros is an endless file that begins with some bytes.
type zeros []byte

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z)) {
		copy(p, z[off:])
	}
	return len(p), nil
}

// TestAbsurdCounts sets every four and every eight bytes of a header to huge numbers. The file claims 2^62 bytes, so only
// MaxHeader limits memory.
func TestAbsurdCounts(t *testing.T) {
	const maxHeader = 1 << 20
	for _, name := range []string{"cdf1", "cdf2", "cdf5"} {
		good := golden(t, name)
		_, n, _ := decode(good, nil)
		for at := 4; at+8 <= int(n); at += 4 {
			for _, x := range []uint64{1<<62 - 1, 1 << 40, 1 << 31, 1<<32 - 2, 1<<31<<32 - 1, math.MaxUint64, 1 << 24} {
				for _, wide := range []bool{false, true} {
					b := bytes.Clone(good)
					if wide {
						binary.BigEndian.PutUint64(b[at:], x)
					} else {
						binary.BigEndian.PutUint32(b[at:], uint32(x))
					}
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, _, err := cdf5.DecodeHeader(zeros(b), 1<<62, &cdf5.DecodeOptions{MaxHeader: maxHeader})
					runtime.ReadMemStats(&after)
					if got := after.TotalAlloc - before.TotalAlloc; got > 8*maxHeader {
						t.Fatalf("%s: %#x at %#x: %d bytes allocated, %v", name, x, at, got, err)
					}
				}
			}
		}
	}
	b := golden(t, "cdf5")
	binary.BigEndian.PutUint64(b[0x10:], 1<<40)
	if _, _, err := cdf5.DecodeHeader(zeros(b), 1<<62, nil); !errors.Is(err, cdf5.ErrTooLarge) {
		t.Errorf("2^40 dimensions: %v, want ErrTooLarge", err)
	}
}

// TestBitFlips flips each bit of a header. Decoding must not panic, and a decoded header can be encoded and read within bounds.
func TestBitFlips(t *testing.T) {
	for _, name := range []string{"cdf1", "cdf2", "cdf5"} {
		good := golden(t, name)
		_, n, _ := decode(good, nil)
		for i := range int(n) * 8 {
			b := bytes.Clone(good)
			b[i/8] ^= 1 << (i % 8)
			checkAny(t, b)
		}
	}
}

// checkAny decodes arbitrary bytes. An error must be typed. A decoded header must survive encoding, and its variables must lie
// between the header and the end of the file.
func checkAny(t *testing.T, b []byte) {
	noted := false
	h, n, err := decode(b, &cdf5.DecodeOptions{Note: func(*cdf5.FormatError) { noted = true }})
	if err != nil {
		var fe *cdf5.FormatError
		if !errors.As(err, &fe) || fe.Err == nil || fe.Offset < 0 || fe.Offset > int64(len(b)) {
			t.Fatalf("%v", err)
		}
		return
	}
	enc, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		t.Fatalf("cannot encode what was decoded: %v", err)
	}
	if int64(len(enc)) != n || n != h.EncodedLen() || !noted && !bytes.Equal(enc, b[:n]) {
		t.Fatalf("%d bytes encode to %d, EncodedLen %d, or differ", n, len(enc), h.EncodedLen())
	}
	back, _, err := decode(enc, nil)
	if err != nil || !same(h, back) {
		t.Fatalf("does not come back: %v, %v", err, back)
	}
	size := h.FileSize(max(h.NumRecs, 0))
	for v := range h.Vars {
		last := int64(0)
		if h.IsRecord(v) {
			if last = h.NumRecs - 1; last < 0 {
				continue
			}
		}
		if off, k := h.Extent(v, last); off < n || k < 0 || off+k < off || off+k > size {
			t.Fatalf("%s: bytes %d to %d, the header ends at %d, the file at %d", h.Vars[v].Name, off, off+k, n, size)
		}
	}
}

func TestReadErrorIsKept(t *testing.T) {
	_, _, err := cdf5.DecodeHeader(brokenReader{}, 100, &cdf5.DecodeOptions{Order: cdf5.AutoOrder})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

type brokenReader struct{}

func (brokenReader) ReadAt(p []byte, off int64) (int, error) { return 0, io.ErrClosedPipe }

// TestZeroDims: E3SM-IO writes several dimensions of length 0 into the header_blob of a subfile without elements.
func TestZeroDims(t *testing.T) {
	b := golden(t, "cdf5")
	binary.BigEndian.PutUint64(b[0x38:], 0)
	if _, _, err := decode(b, nil); !errors.Is(err, cdf5.ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	h, n, err := decode(b, &cdf5.DecodeOptions{ZeroDims: true, NoBegins: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, h); !bytes.Equal(got, b[:n]) {
		t.Error("encodes to other bytes")
	}
	if u := h.VarIndex("u"); h.Elems(u) != 0 || !h.IsRecord(u) {
		t.Errorf("u has %d elements a record", h.Elems(u))
	}
}

func FuzzDecodeHeader(f *testing.F) {
	for _, name := range []string{"cdf1", "cdf2", "cdf5"} {
		f.Add(golden(f, name))
	}
	for _, v := range []cdf5.Version{cdf5.CDF1, cdf5.CDF2, cdf5.CDF5} {
		h := sample(v, 1)
		must(h.Layout(nil))
		f.Add(append(encode(f, h), make([]byte, 100)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkAny(t, b) })
}

func FuzzHeaderBlob(f *testing.F) {
	f.Add(golden(f, "header_blob"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := &cdf5.DecodeOptions{Order: cdf5.AutoOrder, NoBegins: true, ZeroDims: true}
		h, n, err := decode(b, o)
		if err != nil {
			return
		}
		enc := need(h.AppendTo(nil, binary.LittleEndian, true))
		o.Order = binary.LittleEndian
		back, m, err := decode(enc, o)
		if err != nil || m != n || !same(h, back) {
			t.Fatalf("%v, %d and %d bytes, %v", err, n, m, back)
		}
	})
}
