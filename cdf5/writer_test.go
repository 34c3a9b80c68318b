package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
)

// TestWriteHyperslabs writes random parts in random order, with and without
// fill, and compares with arrays in memory.
func TestWriteHyperslabs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHeader(rt)
		h.NumRecs = rapid.Int64Range(0, 2).Draw(rt, "least records")
		fill := rapid.Bool().Draw(rt, "fill")
		f := &memFile{}
		w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{Fill: fill, Layout: &cdf5.LayoutOptions{HeaderAlign: 64}})
		if err != nil {
			rt.Fatal(err)
		}
		const mostRecords = 4
		model := make([]reflect.Value, len(h.Vars))
		for v := range h.Vars {
			n := int(h.Elems(v))
			if h.IsRecord(v) {
				n *= mostRecords
			}
			s := cdf5.NewSlice(h.Vars[v].Type, n)
			if b := make([]byte, n*h.Vars[v].Type.Size()); fill {
				cdf5.FillBytes(b, h.Vars[v].Type, nil, nil)
				if err := cdf5.FromFile(s, b, true, h.Vars[v].Type); err != nil {
					rt.Fatal(err)
				}
			}
			model[v] = reflect.ValueOf(s)
		}
		records := h.NumRecs
		for step := range rapid.IntRange(0, 12).Draw(rt, "writes") {
			if len(h.Vars) == 0 {
				break
			}
			v := rapid.IntRange(0, len(h.Vars)-1).Draw(rt, "var")
			dims := h.Shape(v)
			if h.IsRecord(v) {
				dims = append([]int64{mostRecords}, dims...)
			}
			start, count, _ := drawSlab(rt, dims)
			n := int64(1)
			for i := range count {
				count[i] = min(count[i], dims[i]-start[i])
				n *= count[i]
			}
			src := pattern(h.Vars[v].Type, step, int(n))
			if err := w.Write(v, start, count, src); err != nil {
				rt.Fatal(err)
			}
			if n > 0 && h.IsRecord(v) {
				records = max(records, start[0]+count[0])
			}
			store(model[v], dims, start, count, reflect.ValueOf(src))
		}
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		r := f.open(t)
		if r.Records() != records || r.Header().Unlimited() >= 0 && int64(len(f.b)) < r.Header().FileSize(records) {
			rt.Fatalf("%d records in %d bytes, want %d in %d", r.Records(), len(f.b), records, r.Header().FileSize(records))
		}
		if r.Missing() != 0 {
			rt.Fatalf("%d bytes missing", r.Missing())
		}
		for v := range h.Vars {
			got, err := r.ReadAll(v)
			if err != nil {
				rt.Fatal(err)
			}
			want := model[v]
			if h.IsRecord(v) {
				want = want.Slice(0, int(records*h.Elems(v)))
			}
			if !reflect.DeepEqual(got, want.Interface()) {
				rt.Fatalf("%s: %v, want %v", h.Vars[v].Name, got, want)
			}
		}
	})
}

// store puts a hyperslab into an array in memory.
func store(all reflect.Value, dims, start, count []int64, src reflect.Value) {
	k := 0
	var walk func(d int, at int64)
	walk = func(d int, at int64) {
		if d == len(dims) {
			all.Index(int(at)).Set(src.Index(k))
			k++
			return
		}
		for i := range count[d] {
			walk(d+1, at*dims[d]+start[d]+i)
		}
	}
	walk(0, 0)
}

// TestWriteLarge crosses pieces, with and without conversion.
func TestWriteLarge(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "t"}, {Name: "y", Len: 301}, {Name: "x", Len: 1009}},
		Vars: []cdf5.Var{
			{Name: "a", Type: cdf5.Double, Dims: []int{1, 2}},
			{Name: "b", Type: cdf5.Byte, Dims: []int{0, 1, 2}},
			{Name: "c", Type: cdf5.Float, Dims: []int{0, 1, 2}},
		}}
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{Fill: true})
	if err != nil {
		t.Fatal(err)
	}
	a := pattern(cdf5.Int, 3, 301*1009).([]int32)
	b := pattern(cdf5.Byte, 4, 2*301*1009).([]int8)
	c := pattern(cdf5.Double, 5, 301*500).([]float64)
	for i, err := range []error{
		w.Write(0, nil, nil, a),
		w.Write(1, nil, nil, b),
		w.Write(2, []int64{1, 0, 509}, []int64{1, 301, 500}, c), // columns
		w.Close(),
	} {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	r := f.open(t)
	gotA := make([]int32, len(a))
	if err := r.Read(0, nil, nil, nil, gotA); err != nil || !reflect.DeepEqual(gotA, a) {
		t.Errorf("a: %v", err)
	}
	if gotB, err := r.ReadAll(1); err != nil || !reflect.DeepEqual(gotB, b) {
		t.Errorf("b: %v", err)
	}
	gotC, err := r.ReadAll(2)
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for i, x := range gotC.([]float32) {
		want := cdf5.FillValue(cdf5.Float).(float32)
		if i >= 301*1009 && i%1009 >= 509 {
			want = float32(c[k])
			k++
		}
		if x != want {
			t.Fatalf("c[%d] = %v, want %v", i, x, want)
		}
	}
}

// TestManyParts goes over the cap on the list of written parts: fills are
// written early, and later writes go over them.
func TestManyParts(t *testing.T) {
	const n = 3 * 4096 * 2
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "n", Len: n}}, Vars: []cdf5.Var{{Name: "v", Type: cdf5.Short, Dims: []int{0}}}}
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{Fill: true})
	if err != nil {
		t.Fatal(err)
	}
	order := rand.New(rand.NewPCG(3, 4)).Perm(n)
	for _, i := range order[:n-100] {
		if err := w.Write(0, []int64{int64(i)}, []int64{1}, []int16{int16(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := make([]int16, n)
	for i := range want {
		want[i] = int16(i)
	}
	for _, i := range order[n-100:] {
		want[i] = cdf5.FillValue(cdf5.Short).(int16)
	}
	if got, err := f.open(t).ReadAll(0); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v", err)
	}
}

func TestWriteConcurrently(t *testing.T) {
	h := sample(cdf5.CDF5, 0)
	want, values := makeFile(t, h, 8)
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for v := range h.Vars {
		wg.Go(func() {
			if !h.IsRecord(v) {
				if err := w.Write(v, nil, nil, values[v]); err != nil {
					t.Error(err)
				}
				return
			}
			n := int(h.Elems(v))
			for _, rec := range rand.Perm(8) {
				start, count := make([]int64, len(h.Vars[v].Dims)), append([]int64{1}, h.Shape(v)...)
				start[0] = int64(rec)
				if err := w.Write(v, start, count, cut(values[v], rec*n, (rec+1)*n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.b, want.b) {
		t.Error("the file differs from the one written in order")
	}
}

func TestWriteRaw(t *testing.T) {
	for _, fill := range []bool{false, true} {
		h := sample(cdf5.CDF5, 0)
		want, values := makeFile(t, h, 3)
		f := &memFile{}
		w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{Fill: fill})
		if err != nil {
			t.Fatal(err)
		}
		for v := range h.Vars {
			n := int(h.Elems(v)) * h.Vars[v].Type.Size()
			src := make([]byte, reflect.ValueOf(values[v]).Len()*h.Vars[v].Type.Size())
			if err := cdf5.ToFile(src, true, h.Vars[v].Type, values[v]); err != nil {
				t.Fatal(err)
			}
			for rec := len(src)/n - 1; rec >= 0; rec-- {
				half := int64(h.Elems(v) / 2)
				part := src[rec*n : (rec+1)*n]
				cutAt := half * int64(h.Vars[v].Type.Size())
				if err := errors.Join(w.WriteRaw(v, int64(rec), half, part[cutAt:]), w.WriteRaw(v, int64(rec), 0, part[:cutAt])); err != nil {
					t.Fatal(err)
				}
			}
		}
		v := h.VarIndex("r_int64")
		for name, err := range map[string]error{
			"past the end": w.WriteRaw(v, 0, 4, make([]byte, 16)),
			"record -1":    w.WriteRaw(v, -1, 0, make([]byte, 8)),
			"variable":     w.WriteRaw(-1, 0, 0, make([]byte, 8)),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if fill {
			continue // the pads are fill values then
		}
		if !bytes.Equal(f.b, want.b) {
			t.Error("the file differs from the one written in order")
		}
	}
}

func TestWriteUsage(t *testing.T) {
	w, err := cdf5.NewWriter(&memFile{}, sample(cdf5.CDF1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, r := w.Header().VarIndex("f_int"), w.Header().VarIndex("r_int")
	for name, err := range map[string]error{
		"variable":        w.Write(-1, nil, nil, []int32{1}),
		"rank":            w.Write(f, []int64{1}, nil, []int32{1}),
		"rank of count":   w.Write(r, nil, []int64{1}, []int32{1}),
		"length":          w.Write(f, nil, nil, []int32{1}),
		"record length":   w.Write(r, nil, nil, []int32{1, 2, 3}),
		"past the end":    w.Write(f, []int64{2, 0}, []int64{2, 1}, []int32{1, 2}),
		"negative record": w.Write(r, []int64{-1, 0}, []int64{1, 5}, make([]int32, 5)),
		"text":            w.Write(f, nil, nil, "abcdefghijklmno"),
	} {
		if !errors.Is(err, cdf5.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Write(r, []int64{1<<32 - 2, 0}, []int64{1, 5}, make([]int32, 5)); !errors.Is(err, cdf5.ErrTooLarge) {
		t.Errorf("record 2^32-2 of CDF-1: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(f, nil, nil, make([]int32, 15)); !errors.Is(err, cdf5.ErrUsage) {
		t.Errorf("after Close: %v", err)
	}
	if err := w.Close(); !errors.Is(err, cdf5.ErrUsage) {
		t.Errorf("second Close: %v", err)
	}
	// Begins that overlap.
	h := sample(cdf5.CDF1, 0)
	if err := h.Layout(nil); err != nil {
		t.Fatal(err)
	}
	h.Vars[0].Begin += 2 // 15 bytes and 1 of pad
	if _, err := cdf5.NewWriter(&memFile{}, h, nil); err == nil {
		t.Error("overlapping begins were taken")
	}
}

// brokenWriter fails at its n-th write; short says that it then writes half.
type brokenWriter struct {
	memFile
	n     int
	short bool
}

func (b *brokenWriter) WriteAt(p []byte, off int64) (int, error) {
	if b.n--; b.n == 0 {
		if b.short {
			return b.memFile.WriteAt(p[:len(p)/2], off)
		}
		return 0, io.ErrClosedPipe
	}
	return b.memFile.WriteAt(p, off)
}

// TestWriteFailures: after a failed write, wherever, there is no header.
func TestWriteFailures(t *testing.T) {
	for _, short := range []bool{false, true} {
		want := io.ErrClosedPipe
		if short {
			want = io.ErrShortWrite
		}
		for n := 1; ; n++ {
			f := &brokenWriter{n: n, short: short}
			w, err := cdf5.NewWriter(f, sample(cdf5.CDF5, 2), &cdf5.WriterOptions{Fill: true, Name: "f.nc"})
			if err != nil {
				t.Fatal(err)
			}
			var first error
			for v := range 6 {
				k := int(w.Header().Elems(v))
				if err := w.Write(v, nil, nil, pattern(w.Header().Vars[v].Type, v, k)); err != nil && first == nil {
					first = err
				}
			}
			closed := w.Close()
			if f.n > 0 {
				break // all writes went well
			}
			if first == nil {
				first = closed
			} else if !errors.Is(closed, cdf5.ErrBroken) {
				t.Fatalf("write %d: Close: %v, want ErrBroken", n, closed)
			}
			if !errors.Is(first, want) || closed == nil {
				t.Fatalf("write %d: %v, Close: %v", n, first, closed)
			}
			if _, _, err := decode(f.b, nil); err == nil && !short {
				t.Fatalf("write %d failed, yet there is a header", n)
			}
		}
	}
}

// TestPads: the bytes between variables are fill values, or zeros, also where
// the file had other bytes before.
func TestPads(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF1, Dims: []cdf5.Dim{{Name: "t"}, {Name: "n", Len: 3}}, Vars: []cdf5.Var{
		{Name: "a", Type: cdf5.Byte, Dims: []int{1}},
		{Name: "b", Type: cdf5.Short, Dims: []int{0, 1}},
		{Name: "c", Type: cdf5.Byte, Dims: []int{0}},
	}}
	for _, written := range []bool{true, false} {
		for fill, want := range map[bool]string{
			true:  "\x01\x01\x01\x81" + "\x00\x02\x00\x02\x00\x02\x80\x01" + "\x03\x81\x81\x81",
			false: "\x01\x01\x01\x00" + "\x00\x02\x00\x02\x00\x02\x00\x00" + "\x03\x00\x00\x00",
		} {
			f := &memFile{b: bytes.Repeat([]byte{0xee}, 1000)}
			w, err := cdf5.NewWriter(f, h, &cdf5.WriterOptions{Fill: fill})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case written:
				err = errors.Join(w.Write(0, nil, nil, []int8{1, 1, 1}), w.Write(1, nil, nil, []int32{2, 2, 2}), w.WriteRaw(2, 0, 0, []byte{3}))
			case fill:
				want = "\x81\x81\x81\x81" + "\x80\x01\x80\x01\x80\x01\x80\x01" + "\x03\x81\x81\x81"
				err = w.Write(2, nil, nil, []int8{3})
			default:
				continue
			}
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			if got := f.b[w.Header().EncodedLen():][:len(want)]; string(got) != want {
				t.Errorf("written %v, fill %v: % x, want % x", written, fill, got, want)
			}
		}
	}
}

// TestKeptLayout writes into a layout that is given, where variables are
// tight: pads are not written over the next variable.
func TestKeptLayout(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF1, Dims: []cdf5.Dim{{Name: "n", Len: 3}},
		Vars: []cdf5.Var{{Name: "a", Type: cdf5.Byte, Dims: []int{0}}, {Name: "b", Type: cdf5.Byte, Dims: []int{0}}}}
	h.Vars[1].Begin = 400
	h.Vars[0].Begin = 403
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(0, nil, nil, []int8{1, 2, 3}), w.Write(1, nil, nil, []int8{4, 5, 6}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.b[400:406], []byte{4, 5, 6, 1, 2, 3}) {
		t.Errorf("% x", f.b[400:])
	}
}

func FuzzReader(f *testing.F) {
	for _, name := range []string{"cdf1", "cdf2", "cdf5"} {
		f.Add(golden(f, name), int64(0), int64(1), int64(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, start, count, stride int64) {
		r, err := cdf5.NewReader(bytes.NewReader(b), int64(len(b)), "fuzz")
		if err != nil {
			return
		}
		for v := range r.Header().Vars {
			dims := r.Dims(v)
			s, c, by := make([]int64, len(dims)), make([]int64, len(dims)), make([]int64, len(dims))
			n := int64(1)
			for i := range dims {
				s[i], c[i], by[i] = start, count, stride
				if n *= count; n < 0 || n > 1000 {
					return
				}
			}
			if err := r.Read(v, s, c, by, cdf5.NewSlice(r.Header().Vars[v].Type, int(n))); err != nil &&
				!errors.Is(err, cdf5.ErrUsage) && !errors.Is(err, cdf5.ErrTruncated) {
				t.Fatal(err)
			}
		}
	})
}

func benchHeader() *cdf5.Header {
	return &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "t"}, {Name: "lev", Len: 72}, {Name: "ncol", Len: 48602}},
		Vars: []cdf5.Var{{Name: "T", Type: cdf5.Float, Dims: []int{0, 1, 2}}, {Name: "PS", Type: cdf5.Double, Dims: []int{0, 2}}}}
}

// discard is a file that takes everything: the benchmark shows our own cost.
type discard struct{}

func (discard) WriteAt(p []byte, off int64) (int, error) { return len(p), nil }

func BenchmarkWrite(b *testing.B) {
	floats := make([]float32, 72*48602)
	doubles := make([]float64, 72*48602)
	for _, c := range []struct {
		name string
		src  any
	}{{"float32", floats}, {"float64_to_float", doubles}} {
		b.Run(c.name, func(b *testing.B) {
			w, err := cdf5.NewWriter(discard{}, benchHeader(), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 * 72 * 48602)
			for b.Loop() {
				if err := w.Write(0, []int64{0, 0, 0}, []int64{1, 72, 48602}, c.src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	h := benchHeader()
	if err := h.Layout(nil); err != nil {
		b.Fatal(err)
	}
	h.NumRecs = 1
	enc, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		b.Fatal(err)
	}
	file := append(enc, make([]byte, h.FileSize(1)-int64(len(enc)))...)
	r, err := cdf5.NewReader(bytes.NewReader(file), int64(len(file)), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		count []int64
		dst   any
	}{
		{"record_float32", []int64{1, 72, 48602}, make([]float32, 72*48602)},
		{"record_as_float64", []int64{1, 72, 48602}, make([]float64, 72*48602)},
		{"rows_of_4", []int64{1, 72, 4}, make([]float32, 72*4)},
		{"rows_of_4000", []int64{1, 72, 4000}, make([]float32, 72*4000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(4 * c.count[1] * c.count[2])
			for b.Loop() {
				if err := r.Read(0, []int64{0, 0, 0}, c.count, nil, c.dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHeader(b *testing.B) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "time"}, {Name: "ncol", Len: 866}}}
	for i := range 400 {
		name := "VAR" + string(rune('A'+i%26)) + string(rune('A'+i/26))
		h.Vars = append(h.Vars, cdf5.Var{Name: name, Type: cdf5.Float, Dims: []int{0, 1}, Atts: []cdf5.Att{
			{Name: "decomposition_ID", Type: cdf5.Int, Value: []int32{2}}, {Name: "global_dimids", Type: cdf5.Int, Value: []int32{0, 5}},
			{Name: "units", Type: cdf5.Char, Value: "kg/m2/s"}, {Name: "long_name", Type: cdf5.Char, Value: "Dust aerosol surface flux of " + name}}})
	}
	if err := h.Layout(nil); err != nil {
		b.Fatal(err)
	}
	enc, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(enc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.AppendTo(enc[:0], binary.BigEndian, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(enc)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := decode(enc, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("layout", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := h.Layout(nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
