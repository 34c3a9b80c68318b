package netcdf4

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/cdf5/cdftest"
)

// open returns the view of a netCDF-4 file in memory.
func open(file []byte, name string) (*View, error) {
	f, err := h5.NewFile(bytes.NewReader(file), int64(len(file)), name)
	if err != nil {
		return nil, err
	}
	return FromFile(f, name, 0)
}

// written converts a CDF-5 file in memory to a netCDF-4 file.
func written(t testing.TB, cdf []byte, o *Options) []byte {
	t.Helper()
	hdr, _, err := cdf5.DecodeHeader(bytes.NewReader(cdf), int64(len(cdf)), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(hdr, o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file := make([]byte, f.Start())
	for i, v := range f.Vars() {
		span := func(s Span) []byte {
			at, _ := hdr.Extent(i, s.Rec)
			w := hdr.Vars[i].Type.Size()
			b := bytes.Clone(cdf[at+s.Lo*int64(w) : at+s.Hi*int64(w)])
			elem.Swap(b, b, w)
			return b
		}
		if v.Chunks() == 0 {
			if n := v.Bytes(); n > 0 {
				copy(file[v.Offset():], span(Span{Hi: n / v.Elem()}))
			}
			continue
		}
		for k := 0; k < v.Chunks(); k += 2 { // several chunks at a time
			end := min(k+2, v.Chunks())
			var data []byte
			for _, s := range v.Spans(int64(k), int64(end), hdr.IsRecord(i)) {
				data = append(data, span(s)...)
			}
			out, packed, err := v.Pack(nil, data, nil, int64(k), int64(end))
			if err != nil {
				t.Fatal(err)
			}
			at := int64(len(file))
			for j, p := range packed {
				v.SetChunk(k+j, at, p.Len, p.Mask)
				at += p.Len
			}
			file = append(file, out...)
		}
	}
	meta, err := f.Encode(int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	copy(file, meta)
	return file
}

func view(t testing.TB, file []byte) *View {
	t.Helper()
	v, err := open(file, "t.nc")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sample returns a CDF-5 file with variables of all kinds.
func sample(t testing.TB, records int64) []byte {
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: records, Dims: []cdf5.Dim{{Name: "lev", Len: 5}, {Name: "time"}, {Name: "col", Len: 13}, {Name: "unused", Len: 3}},
		Atts: []cdf5.Att{{Name: "title", Type: cdf5.Char, Value: "é\x00\n"}, {Name: "none", Type: cdf5.Char, Value: ""}, {Name: "no numbers", Type: cdf5.Short, Value: []int16{}}},
		Vars: []cdf5.Var{
			{Name: "time", Type: cdf5.Double, Dims: []int{1}, Atts: []cdf5.Att{{Name: "units", Type: cdf5.Char, Value: "days"}}},
			{Name: "T", Type: cdf5.Float, Dims: []int{1, 0, 2}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Float, Value: []float32{-9}}}},
			{Name: "lev", Type: cdf5.Int, Dims: []int{2}}, // has the name of a dimension that the variable does not use
			{Name: "s", Type: cdf5.UInt64},
			{Name: "col", Type: cdf5.Char, Dims: []int{2, 0}}, // text as a coordinate variable
			{Name: "b", Type: cdf5.Byte, Dims: []int{1}},
			{Name: "fixed", Type: cdf5.Short, Dims: []int{2, 0, 2}, Atts: []cdf5.Att{{Name: "n", Type: cdf5.UByte, Value: []uint8{1, 255}}}},
		}}
	var values []any
	for i := range h.Vars {
		n := h.Elems(i)
		if h.IsRecord(i) {
			n *= records
		}
		x := make([]uint8, n)
		for k := range x {
			x[k] = uint8((k*7 + i) % 100)
		}
		values = append(values, x)
	}
	return cdftest.Build(t, h, false, values...)
}

// TestSame checks that the view of the file equals the CDF-5 file, byte for byte, from any offset.
func TestSame(t *testing.T) {
	for _, records := range []int64{0, 1, 4} {
		cdf := sample(t, records)
		for _, p := range []h5.Pipeline{{}, {Deflate: 1}, {Shuffle: true, Zstd: 3}} {
			for _, chunk := range []int64{1, 60, 1000, 0} {
				v := view(t, written(t, cdf, &Options{Filters: p, ChunkBytes: chunk}))
				if v.Size() != int64(len(cdf)) {
					t.Fatalf("%d bytes, want %d", v.Size(), len(cdf))
				}
				r := rand.New(rand.NewPCG(uint64(records), uint64(chunk)))
				for range 300 {
					at := r.IntN(len(cdf) + 3)
					b := make([]byte, r.IntN(len(cdf)+5))
					n, err := v.ReadAt(b, int64(at))
					want := cdf[min(at, len(cdf)):min(at+len(b), len(cdf))]
					if !bytes.Equal(b[:n], want) || (err == io.EOF) != (n < len(b)) || err != nil && err != io.EOF {
						t.Fatalf("%d records, %+v, chunks of %d: %d bytes from %d on differ, or %v", records, p, chunk, len(b), at, err)
					}
				}
				if err := v.Verify(t.Context(), func(err error) { t.Error(err) }, func(int64) {}); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestSameProperty is TestSame with random shapes.
func TestSameProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: rapid.Int64Range(0, 4).Draw(r, "records")}
		for i := range rapid.IntRange(1, 4).Draw(r, "dims") {
			h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprintf("x%d", i), Len: rapid.Int64Range(1, 9).Draw(r, "len")})
		}
		h.Dims = append(h.Dims, cdf5.Dim{Name: "t"})
		var values []any
		for i := range rapid.IntRange(0, 5).Draw(r, "vars") {
			v := cdf5.Var{Name: fmt.Sprintf("x%d", i+rapid.IntRange(0, 1).Draw(r, "shift")*10), Type: cdf5.Type(rapid.IntRange(1, 11).Draw(r, "type"))}
			if rapid.Bool().Draw(r, "record") {
				v.Dims = append(v.Dims, len(h.Dims)-1)
			}
			for range rapid.IntRange(0, 3).Draw(r, "rank") {
				v.Dims = append(v.Dims, rapid.IntRange(0, len(h.Dims)-2).Draw(r, "dim"))
			}
			h.Vars = append(h.Vars, v)
			n := h.Elems(i)
			if h.IsRecord(i) {
				n *= h.NumRecs
			}
			x := make([]uint8, n)
			for k := range x {
				x[k] = uint8(k*13+i) % 127
			}
			values = append(values, x)
		}
		cdf := cdftest.Build(t, h, false, values...)
		o := &Options{ChunkBytes: rapid.Int64Range(1, 300).Draw(r, "chunk"), Filters: h5.Pipeline{Shuffle: rapid.Bool().Draw(r, "shuffle"), Deflate: rapid.IntRange(0, 1).Draw(r, "deflate")}}
		v := view(t, written(t, cdf, o))
		got := make([]byte, v.Size())
		if _, err := v.ReadAt(got, 0); err != nil && err != io.EOF {
			r.Fatal(err)
		}
		if !bytes.Equal(got, cdf) {
			r.Fatal("another CDF-5 file")
		}
	})
}

// TestRefused checks that names that netCDF-4 cannot hold cause errors.
func TestRefused(t *testing.T) {
	att := func(name string) []cdf5.Att { return []cdf5.Att{{Name: name, Type: cdf5.Char, Value: "x"}} }
	for what, h := range map[string]*cdf5.Header{
		`"CLASS" of variable v`:   {Vars: []cdf5.Var{{Name: "v", Type: cdf5.Int, Atts: att("CLASS")}}},
		`"_NCProperties" of`:      {Atts: att("_NCProperties")},
		`"_nc4_non_coord_v"`:      {Vars: []cdf5.Var{{Name: "_nc4_non_coord_v", Type: cdf5.Int}}},
		`dimension "_nc4_non_coo`: {Dims: []cdf5.Dim{{Name: "_nc4_non_coord_v", Len: 1}}},
		`variable "a/b"`:          {Vars: []cdf5.Var{{Name: "a/b", Type: cdf5.Int}}},
		`variable "."`:            {Vars: []cdf5.Var{{Name: ".", Type: cdf5.Int}}},
	} {
		if _, err := New(h, nil); !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	many := &cdf5.Header{NumRecs: 1 << 50, Dims: []cdf5.Dim{{Name: "t"}}, Vars: []cdf5.Var{{Name: "v", Type: cdf5.Int, Dims: []int{0}}}}
	if _, err := New(many, nil); !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("2^50 records: %v", err)
	}
	if _, err := New(&cdf5.Header{}, &Options{ChunkBytes: -1}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("chunks of -1: %v", err)
	}
}

// TestDamage checks that each changed byte either causes an error or changes only data without a checksum, and never causes a
// panic or a hang.
func TestDamage(t *testing.T) {
	cdf := sample(t, 2)
	file := written(t, cdf, &Options{Filters: h5.Pipeline{Shuffle: true, Deflate: 1}, ChunkBytes: 200})
	errs, same, data := 0, 0, 0
	for at := range file {
		if at%7 != 0 && at > 64 { // test only some offsets
			continue
		}
		b := bytes.Clone(file)
		b[at] ^= 1 << (at % 8)
		v, err := open(b, "t.nc")
		if err != nil {
			errs++
			continue
		}
		got := make([]byte, min(v.Size(), 1<<20))
		_, err = v.ReadAt(got, 0)
		switch {
		case err != nil && err != io.EOF:
			errs++
		case bytes.Equal(got, cdf):
			same++
		default:
			data++
		}
	}
	if errs == 0 || data > len(file)/20 {
		t.Errorf("%d errors, %d without effect, %d that show in data only", errs, same, data)
	}
	for n := 0; n < len(file); n += 53 {
		if v, err := open(file[:n], "t.nc"); err == nil {
			if _, err := v.ReadAt(make([]byte, v.Size()), 0); err == nil || err == io.EOF {
				t.Errorf("%d of %d bytes: no error", n, len(file))
			}
		}
	}
}

// TestConcurrent checks that many readers can share one view.
func TestConcurrent(t *testing.T) {
	cdf := sample(t, 4)
	v := view(t, written(t, cdf, &Options{Filters: h5.Pipeline{Deflate: 1}, ChunkBytes: 100}))
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			b := make([]byte, 97)
			for at := k; at < len(cdf); at += 31 {
				n, err := v.ReadAt(b, int64(at))
				if err != nil && err != io.EOF || !bytes.Equal(b[:n], cdf[at:min(at+97, len(cdf))]) {
					t.Errorf("from %d on: %v", at, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// leftOut returns the error for the only item of the file that CDF-5 cannot hold.
func leftOut(t *testing.T, file []byte) error {
	t.Helper()
	v := view(t, file)
	if len(v.LeftOut()) != 1 || len(v.Header().Vars) > 0 || !errors.Is(v.LeftOut()[0], fault.ErrUnsupported) {
		t.Fatalf("left out: %v; %d variables are there", v.LeftOut(), len(v.Header().Vars))
	}
	return v.LeftOut()[0]
}

// TestOfOthers checks that the view leaves out items that CDF-5 cannot hold, each with an error that names the item.
func TestOfOthers(t *testing.T) {
	empty, err := h5.NewTemplate(func(*h5.Builder) {})
	if err != nil {
		t.Fatal(err)
	}
	b := h5.NewBuilder()
	g := b.Stamp("g", empty)
	l, err := b.Layout()
	if err != nil {
		t.Fatal(err)
	}
	group := make([]byte, l.Size)
	copy(group, l.Pieces[0].Data)
	g.Encode(group[g.Offset():])
	if err := leftOut(t, group); !strings.Contains(err.Error(), "member g") {
		t.Errorf("a group: %v", err)
	}
	o := h5.NewOrdered()
	o.Dataset("v", h5.Int8, []int64{3}, nil)
	file := make([]byte, 1<<12)
	if _, err := o.Layout(); err != nil {
		t.Fatal(err)
	}
	meta, err := o.Encode(int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	copy(file, meta)
	if err := leftOut(t, file); !strings.Contains(err.Error(), "no dimension scales") {
		t.Errorf("no scales: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := view(t, written(t, sample(t, 1), nil)).Verify(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("verify after the end of its context: %v", err)
	}
}

// FuzzOpen checks that no input makes Open or ReadAt panic or hang, and that ReadAt never returns more bytes than Size.
func FuzzOpen(f *testing.F) {
	for _, p := range []h5.Pipeline{{}, {Shuffle: true, Deflate: 1}, {Zstd: 1}} {
		f.Add(written(f, sample(f, 2), &Options{Filters: p, ChunkBytes: 100}), uint32(0), uint32(0))
	}
	f.Fuzz(func(t *testing.T, file []byte, at, with uint32) {
		if len(file) >= 8 && int(at) < len(file)-4 {
			file = bytes.Clone(file)
			binary.LittleEndian.PutUint32(file[at:], with)
		}
		v, err := open(file, "f.nc")
		if err != nil {
			return
		}
		_, _ = v.ReadAt(make([]byte, min(v.Size(), 1<<16)), 0)
		_, _ = v.ReadAt(make([]byte, 100), max(v.Size()-100, 0))
	})
}
