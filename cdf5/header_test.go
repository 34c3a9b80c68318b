package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/internal/cdf5/cdftest"
)

func TestHeaderGeometry(t *testing.T) {
	h := sample(cdf5.CDF5, 4)
	must(h.Layout(nil))
	if h.Unlimited() != 0 || h.VarIndex("nope") != -1 || h.DimIndex("x") != 2 {
		t.Errorf("Unlimited %d, VarIndex %d, DimIndex %d", h.Unlimited(), h.VarIndex("nope"), h.DimIndex("x"))
	}
	p := h.Places()
	end := h.EncodedLen()
	for pass := range 2 { // first the fixed variables, then the first record
		for v := range h.Vars {
			if h.IsRecord(v) != (pass == 1) {
				continue
			}
			off, n := h.Extent(v, 0)
			if off != end || n != h.Elems(v)*int64(h.Vars[v].Type.Size()) || h.Vars[v].VSize != (n+3)/4*4 {
				t.Errorf("%s: at %d, %d bytes, vsize %d; want at %d", h.Vars[v].Name, off, n, h.Vars[v].VSize, end)
			}
			if o, m := p.Extent(v, 3); h.IsRecord(v) && (o != off+3*h.RecSize() || m != n) {
				t.Errorf("%s: record 3 at %d", h.Vars[v].Name, o)
			}
			end += h.Vars[v].VSize
		}
	}
	if want := end + 3*h.RecSize(); h.FileSize(4) != want {
		t.Errorf("FileSize %d, want %d", h.FileSize(4), want)
	}
	v := h.VarIndex("own_fill")
	if !reflect.DeepEqual(h.Shape(v), []int64{3, 5}) || h.Elems(v) != 15 || h.FillAtt(v) == nil || h.FillAtt(0) != nil {
		t.Errorf("own_fill: shape %v, %d elements, %v", h.Shape(v), h.Elems(v), h.FillAtt(v))
	}
}

func TestLoneRecordVariable(t *testing.T) {
	for _, typ := range allTypes {
		h := lone(cdf5.CDF5, typ, 3)
		must(h.Layout(nil))
		n := int64(3 * typ.Size())
		if h.RecSize() != n || h.Vars[1].VSize != (n+3)/4*4 {
			t.Errorf("%v: record size %d, vsize %d, want %d and its multiple of 4", typ, h.RecSize(), h.Vars[1].VSize, n)
		}
		h.Vars = append(h.Vars, cdf5.Var{Name: "second", Type: cdf5.Byte, Dims: []int{1}})
		if want := (n+3)/4*4 + 4; h.RecSize() != want {
			t.Errorf("%v: with a second variable the record size is %d, want %d", typ, h.RecSize(), want)
		}
	}
}

func TestLayoutAlignment(t *testing.T) {
	h := sample(cdf5.CDF2, 0)
	o := &cdf5.LayoutOptions{HeaderAlign: 512, HeaderReserve: 1000, VarAlign: 64, RecordAlign: 4096}
	must(h.Layout(o))
	if b := h.Vars[0].Begin; b%512 != 0 || b < h.EncodedLen()+1000 {
		t.Errorf("data begins at %d", b)
	}
	for v := range h.Vars {
		if !h.IsRecord(v) && h.Vars[v].Begin%64 != 0 {
			t.Errorf("%s begins at %d", h.Vars[v].Name, h.Vars[v].Begin)
		}
	}
	if h.FirstRecord()%4096 != 0 {
		t.Errorf("records begin at %d", h.FirstRecord())
	}
	if _, _, err := decode(encode(t, h), nil); err != nil {
		t.Error(err)
	}
	if err := h.Layout(&cdf5.LayoutOptions{VarAlign: -1}); !errors.Is(err, cdf5.ErrUsage) {
		t.Errorf("VarAlign -1: %v", err)
	}
}

// TestLimits tests the size rules of the three versions.
func TestLimits(t *testing.T) {
	type vars []cdf5.Var
	fixed := func(name string, d ...int) cdf5.Var { return cdf5.Var{Name: name, Type: cdf5.Byte, Dims: d} }
	const (
		t0    = iota // dimension ids
		small        // 4
		d31          // 2^31-4
		d16          // 2^16
		d15          // 2^15
		d33          // 2^33
		d62          // 2^62
	)
	dims := []cdf5.Dim{{Name: "t"}, {Name: "small", Len: 4}, {Name: "d31", Len: 1<<31 - 4}, {Name: "d16", Len: 1 << 16}, {Name: "d15", Len: 1 << 15},
		{Name: "d33", Len: 1 << 33}, {Name: "d62", Len: 1 << 62}}
	for _, c := range []struct {
		name string
		v    cdf5.Version
		vars vars
		ok   bool
	}{
		{"last fixed is big", cdf5.CDF1, vars{fixed("a", small), fixed("big", d16, d15)}, true},
		{"big is not last", cdf5.CDF1, vars{fixed("big", d16, d15), fixed("a", small)}, false},
		{"big and records", cdf5.CDF1, vars{fixed("big", d16, d15), fixed("r", t0)}, false},
		{"two big", cdf5.CDF1, vars{fixed("a", d16, d15), fixed("b", d16, d15)}, false},
		{"begin past 2^31", cdf5.CDF1, vars{fixed("a", d31), fixed("b", small)}, false},
		{"begin past 2^31", cdf5.CDF2, vars{fixed("a", d31), fixed("b", small)}, true},
		{"under 2^32 anywhere", cdf5.CDF2, vars{fixed("a", d16, d15), fixed("b", d31), fixed("r", t0)}, true},
		{"2^32 not last", cdf5.CDF2, vars{fixed("a", d16, d16), fixed("b", small)}, false},
		{"2^32 last", cdf5.CDF2, vars{fixed("b", small), fixed("a", d16, d16)}, true},
		{"2^32 and records", cdf5.CDF2, vars{fixed("a", d16, d16), fixed("r", t0)}, false},
		{"2^48 last", cdf5.CDF2, vars{fixed("b", small), fixed("a", d16, d16, d16)}, true},
		{"big record last", cdf5.CDF2, vars{fixed("r", t0), fixed("a", t0, d16, d16)}, true},
		{"big record not last", cdf5.CDF2, vars{fixed("a", t0, d16, d16), fixed("r", t0)}, false},
		{"two big records", cdf5.CDF2, vars{fixed("a", t0, d16, d16), fixed("b", t0, d16, d16)}, false},
		{"big record, then a fixed one", cdf5.CDF2, vars{fixed("a", t0, d16, d16), fixed("f", small)}, true},
		{"2^48 anywhere", cdf5.CDF5, vars{fixed("a", d16, d16, d16), fixed("b", t0, d16, d16), fixed("c", t0)}, true},
		{"2^63", cdf5.CDF5, vars{fixed("a", d16, d16, d16, d15)}, false},
		{"sum of 2^63", cdf5.CDF5, vars{fixed("a", d62), fixed("b", d62)}, false},
		{"2^66, 0 in 64 bits", cdf5.CDF5, vars{fixed("a", d33, d33)}, false},
	} {
		t.Run(fmt.Sprintf("%v/%s", c.v, c.name), func(t *testing.T) {
			h := &cdf5.Header{Version: c.v, Dims: dims[:d33], Vars: slices.Clone(c.vars)}
			if c.v == cdf5.CDF5 {
				h.Dims = dims
			}
			err := h.Layout(nil)
			if c.ok != (err == nil) || (err != nil && !errors.Is(err, cdf5.ErrTooLarge)) {
				t.Fatalf("Layout: %v, want ok = %v", err, c.ok)
			}
			if !c.ok {
				return
			}
			// Decoding restores the clipped vsize of CDF-1 and CDF-2.
			enc := encode(t, h)
			back, _, err := decode(enc, &cdf5.DecodeOptions{Note: func(e *cdf5.FormatError) { t.Error(e) }})
			must(err)
			if !reflect.DeepEqual(back.Vars, h.Vars) {
				t.Errorf("%+v, want %+v", back.Vars, h.Vars)
			}
			if !bytes.Equal(encode(t, back), enc) {
				t.Error("encodes to other bytes")
			}
		})
	}
	for _, c := range []struct {
		v   cdf5.Version
		len int64
		ok  bool
	}{
		{cdf5.CDF1, 1<<31 - 4, true}, {cdf5.CDF1, 1<<31 - 3, false},
		{cdf5.CDF2, 1<<32 - 4, true}, {cdf5.CDF2, 1<<32 - 3, false},
		{cdf5.CDF5, 1 << 33, true}, {cdf5.CDF5, math.MaxInt64 - 3, true}, {cdf5.CDF5, math.MaxInt64 - 2, false},
	} {
		h := &cdf5.Header{Version: c.v, Dims: []cdf5.Dim{{Name: "n", Len: c.len}}}
		if err := h.Layout(nil); (err == nil) != c.ok {
			t.Errorf("%v: dimension of %d: %v", c.v, c.len, err)
			continue
		} else if !c.ok {
			continue
		}
		if back, _, err := decode(encode(t, h), nil); err != nil || back.Dims[0].Len != c.len {
			t.Errorf("%v: dimension of %d came back as %v, %v", c.v, c.len, back, err)
		}
	}
}

func TestValidate(t *testing.T) {
	text := func(s string) cdf5.Att { return cdf5.Att{Name: s, Type: cdf5.Char, Value: ""} }
	good := func() *cdf5.Header { return sample(cdf5.CDF5, 0) }
	for name, spoil := range map[string]func(h *cdf5.Header){
		"version":            func(h *cdf5.Header) { h.Version = 3 },
		"empty name":         func(h *cdf5.Header) { h.Dims[0].Name = "" },
		"slash":              func(h *cdf5.Header) { h.Vars[0].Name = "a/b" },
		"control character":  func(h *cdf5.Header) { h.Vars[0].Name = "a\nb" },
		"delete character":   func(h *cdf5.Header) { h.Vars[0].Name = "a\x7fb" },
		"not UTF-8":          func(h *cdf5.Header) { h.Vars[0].Name = "a\xffb" },
		"first character":    func(h *cdf5.Header) { h.Vars[0].Name = "-b" },
		"last character":     func(h *cdf5.Header) { h.Vars[0].Name = "b " },
		"long name":          func(h *cdf5.Header) { h.Vars[0].Name = string(bytes.Repeat([]byte("n"), 257)) },
		"dim twice":          func(h *cdf5.Header) { h.Dims[1].Name = h.Dims[2].Name },
		"var twice":          func(h *cdf5.Header) { h.Vars[1].Name = h.Vars[2].Name },
		"global att twice":   func(h *cdf5.Header) { h.Atts = append(h.Atts, text("title")) },
		"var att twice":      func(h *cdf5.Header) { h.Vars[0].Atts = []cdf5.Att{text("a"), text("a")} },
		"second unlimited":   func(h *cdf5.Header) { h.Dims[2].Len = 0 },
		"unlimited behind":   func(h *cdf5.Header) { h.Dims[0].Len, h.Dims[1].Len, h.Dims[2].Len = 1, 0, 0 },
		"negative length":    func(h *cdf5.Header) { h.Dims[2].Len = -1 },
		"dimid":              func(h *cdf5.Header) { h.Vars[0].Dims = []int{3} },
		"negative dimid":     func(h *cdf5.Header) { h.Vars[0].Dims = []int{-1} },
		"unlimited second":   func(h *cdf5.Header) { h.Vars[0].Dims = []int{1, 0} },
		"type":               func(h *cdf5.Header) { h.Vars[0].Type = 12 },
		"type of CDF-5":      func(h *cdf5.Header) { h.Version = cdf5.CDF2 },
		"attribute type":     func(h *cdf5.Header) { h.Atts[0].Type = cdf5.Int },
		"attribute value":    func(h *cdf5.Header) { h.Atts[0].Value = 7 },
		"attribute of []int": func(h *cdf5.Header) { h.Atts[0] = cdf5.Att{Name: "i", Type: cdf5.Int64, Value: []int{1}} },
	} {
		h := good()
		spoil(h)
		if err := h.Layout(nil); !errors.Is(err, cdf5.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", name, err)
		}
	}
	if err := good().Validate(); err != nil {
		t.Error(err)
	}
}

func TestStreaming(t *testing.T) {
	h := sample(cdf5.CDF1, cdf5.Streaming)
	h.Vars = append(h.Vars, cdf5.Var{Name: "last", Type: cdf5.Byte, Dims: []int{0}}) // 1 byte and 3 bytes of pad
	must(h.Layout(nil))
	enc := encode(t, h)
	if n := binary.BigEndian.Uint32(enc[4:]); n != math.MaxUint32 {
		t.Errorf("numrecs field %#x", n)
	}
	for size, want := range map[int64]int64{
		0: 0, h.FileSize(0): 0, h.FileSize(1): 1, h.FileSize(1) - 3: 1, h.FileSize(1) - 4: 0,
		h.FileSize(7) - 3: 7, h.FileSize(7) - 4: 6, h.FileSize(7): 7, h.FileSize(7) + 1: 7,
	} {
		if got := h.Records(size); got != want {
			t.Errorf("file of %d bytes: %d records, want %d", size, got, want)
		}
	}
	if back, _, err := decode(enc, nil); err != nil || back.NumRecs != cdf5.Streaming || back.Records(h.FileSize(2)-3) != 2 {
		t.Errorf("%v: %v", err, back)
	}
	if h := sample(cdf5.CDF5, cdf5.Streaming); h.Layout(nil) != nil || !bytes.Equal(encode(t, h)[4:12], bytes.Repeat([]byte{0xff}, 8)) {
		t.Error("the streaming value of CDF-5 is not eight times 0xff")
	}
}

// TestPlaces: data written at the offsets of any header can be read back, even beyond 2^32.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHeader(rt)
		h.NumRecs = max(h.NumRecs, 0)
		values := patterns(h)
		file := cdftest.Build(t, h, rapid.Bool().Draw(rt, "fill"), values...)
		for v, want := range values {
			if got := cdftest.Values(t, file, v); !reflect.DeepEqual(got, want) {
				rt.Fatalf("%s: %v, want %v", h.Vars[v].Name, got, want)
			}
		}
	})
	const n = 1<<32 + 10
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "t"}, {Name: "n", Len: n}, {Name: "two", Len: 2}},
		Vars: []cdf5.Var{
			{Name: "wide", Type: cdf5.Double, Dims: []int{2, 1}},
			{Name: "rec", Type: cdf5.Int, Dims: []int{0, 1}},
			{Name: "end", Type: cdf5.UByte, Dims: []int{0}},
		}}
	must(h.Layout(nil))
	data := h.EncodedLen() + 2*n*8
	if size := h.FileSize(6); size != data+6*(n*4+4) {
		t.Errorf("file of %d bytes, want %d", size, data+6*(n*4+4))
	}
	if off, k := h.Extent(2, 5); off != data+5*(n*4+4)+n*4 || k != 1 {
		t.Errorf("byte of record 5: %d bytes at %d, want 1 at %d", k, off, data+5*(n*4+4)+n*4)
	}
}

func drawHeader(t *rapid.T) *cdf5.Header {
	v := rapid.SampledFrom([]cdf5.Version{cdf5.CDF1, cdf5.CDF2, cdf5.CDF5}).Draw(t, "version")
	name := rapid.StringMatching(`[a-zA-Z0-9_Äλ][ -.0-~é]{0,6}[!-.0-~é]`)
	unique := func(n int, label string) []string {
		return rapid.SliceOfNDistinct(name, n, n, rapid.ID).Draw(t, label)
	}
	typ := rapid.SampledFrom(typesOf(v))
	atts := func(label string) []cdf5.Att {
		var list []cdf5.Att
		for _, s := range unique(rapid.IntRange(0, 3).Draw(t, "natts"), label) {
			a := cdf5.Att{Name: s, Type: typ.Draw(t, "att type")}
			n, seed := rapid.IntRange(0, 5).Draw(t, "att len"), rapid.IntRange(0, 99).Draw(t, "seed")
			if a.Value = pattern(a.Type, seed, n); a.Type == cdf5.Char {
				a.Value = string(a.Value.([]byte))
			}
			list = append(list, a)
		}
		return list
	}
	h := &cdf5.Header{Version: v, NumRecs: rapid.Int64Range(-1, 3).Draw(t, "numrecs"), Atts: atts("global")}
	ndims := rapid.IntRange(0, 4).Draw(t, "ndims")
	unlimited := rapid.IntRange(-1, ndims-1).Draw(t, "unlimited")
	for i, s := range unique(ndims, "dims") {
		d := cdf5.Dim{Name: s, Len: rapid.Int64Range(1, 5).Draw(t, "len")}
		if i == unlimited {
			d.Len = 0
		}
		h.Dims = append(h.Dims, d)
	}
	for _, s := range unique(rapid.IntRange(0, 5).Draw(t, "nvars"), "vars") {
		x := cdf5.Var{Name: s, Type: typ.Draw(t, "type"), Atts: atts("var atts")}
		for k := range rapid.IntRange(0, min(3, ndims)).Draw(t, "rank") {
			if d := rapid.IntRange(0, ndims-1).Draw(t, "dimid"); k == 0 || d != unlimited {
				x.Dims = append(x.Dims, d)
			}
		}
		h.Vars = append(h.Vars, x)
	}
	return h
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHeader(t)
		must(h.Layout(&cdf5.LayoutOptions{VarAlign: rapid.Int64Range(0, 9).Draw(t, "align")}))
		for _, little := range []bool{false, true} {
			order, o := binary.ByteOrder(binary.BigEndian), &cdf5.DecodeOptions{}
			if little {
				order, o = binary.LittleEndian, &cdf5.DecodeOptions{Order: binary.LittleEndian, NoBegins: true}
			}
			o.Note = func(e *cdf5.FormatError) { t.Errorf("note: %v", e) }
			enc := need(h.AppendTo(nil, order, little))
			back, n, err := decode(enc, o)
			must(err)
			if n != h.EncodedLen() || int(n) != len(enc) {
				t.Fatalf("%d bytes, decoded %d, EncodedLen %d", len(enc), n, h.EncodedLen())
			}
			if !same(h, back) {
				t.Fatalf("%v comes back as %v", h, back)
			}
			again, err := back.AppendTo(nil, order, little)
			if err != nil || !bytes.Equal(again, enc) {
				t.Fatalf("encodes to other bytes: %v", err)
			}
		}
	})
}

func TestTypeNames(t *testing.T) {
	for _, typ := range allTypes {
		if got, err := cdf5.ParseType(typ.String()); err != nil || got != typ {
			t.Errorf("%v: %v, %v", typ, got, err)
		}
	}
	if _, err := cdf5.ParseType("string"); !errors.Is(err, cdf5.ErrUsage) {
		t.Errorf("string: %v", err)
	}
	if cdf5.Type(12).Valid() || cdf5.Type(0).Size() != 0 || cdf5.Type(12).String() != "type(12)" || cdf5.CDF2.String() != "CDF-2" {
		t.Error("types or versions beyond the list")
	}
}
