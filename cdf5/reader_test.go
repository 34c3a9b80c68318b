package cdf5_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
)

// makeFile writes all variables of h with the pattern of their index and
// returns the file and the values of each variable.
func makeFile(t testing.TB, h *cdf5.Header, records int) (*memFile, []any) {
	t.Helper()
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(h.Vars))
	for v := range h.Vars {
		n := int(h.Elems(v))
		if h.IsRecord(v) {
			n *= records
		}
		values[v] = pattern(h.Vars[v].Type, v, n)
		if err := w.Write(v, nil, nil, values[v]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f, values
}

// pickSlab takes a hyperslab out of a whole variable, element by element.
func pickSlab(all any, dims, start, count, stride []int64) any {
	src := reflect.ValueOf(all)
	dst := reflect.MakeSlice(src.Type(), 0, 0)
	var walk func(d int, at int64)
	walk = func(d int, at int64) {
		if d == len(dims) {
			dst = reflect.Append(dst, src.Index(int(at)))
			return
		}
		for i := range count[d] {
			walk(d+1, at*dims[d]+start[d]+i*stride[d])
		}
	}
	walk(0, 0)
	return dst.Interface()
}

// drawSlab draws a request for a variable of those dimensions.
func drawSlab(t *rapid.T, dims []int64) (start, count, stride []int64) {
	for _, n := range dims {
		s := rapid.Int64Range(0, n).Draw(t, "start")
		by := rapid.Int64Range(1, max(1, n)).Draw(t, "stride")
		most := int64(0)
		if s < n {
			most = (n-s-1)/by + 1
		}
		start, stride = append(start, s), append(stride, by)
		count = append(count, rapid.Int64Range(0, most).Draw(t, "count"))
	}
	return start, count, stride
}

// TestReadHyperslabs compares every kind of read with a walk over elements.
func TestReadHyperslabs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHeader(rt)
		h.NumRecs = 0
		records := rapid.IntRange(0, 4).Draw(rt, "records")
		f, values := makeFile(t, h, records)
		r := f.open(t)
		for v := range h.Vars {
			dims := r.Dims(v)
			start, count, stride := drawSlab(rt, dims)
			want := pickSlab(values[v], dims, start, count, stride)
			got := reflect.MakeSlice(reflect.TypeOf(want), reflect.ValueOf(want).Len(), reflect.ValueOf(want).Len()).Interface()
			if err := r.Read(v, start, count, stride, got); err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				rt.Fatalf("%v[%v+%v*%v] of %v = %v, want %v", h.Vars[v].Type, start, count, stride, dims, got, want)
			}
			if h.Vars[v].Type == cdf5.Char {
				continue
			}
			// The same into another type.
			floats := make([]float64, reflect.ValueOf(want).Len())
			if err := r.Read(v, start, count, stride, floats); err != nil {
				rt.Fatal(err)
			}
			for i, x := range floats {
				if w := reflect.ValueOf(want).Index(i).Convert(reflect.TypeFor[float64]()).Float(); x != w {
					rt.Fatalf("as float64: element %d is %v, want %v", i, x, w)
				}
			}
		}
	})
}

// TestReadLarge crosses the pieces and windows that reads work in.
func TestReadLarge(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5,
		Dims: []cdf5.Dim{{Name: "t"}, {Name: "y", Len: 700}, {Name: "x", Len: 1009}},
		Vars: []cdf5.Var{
			{Name: "a", Type: cdf5.Double, Dims: []int{1, 2}}, // 5.6 MB
			{Name: "r", Type: cdf5.Short, Dims: []int{0, 1, 2}},
			{Name: "b", Type: cdf5.Byte, Dims: []int{0}},
		}}
	f, values := makeFile(t, h, 3)
	r := f.open(t)
	for _, c := range []struct {
		name                 string
		v                    int
		start, count, stride []int64
		reads                int   // at most
		bytes                int64 // at most
	}{
		{"whole", 0, nil, nil, nil, 6, 700 * 1009 * 8},
		{"one row", 0, []int64{5, 0}, []int64{1, 1009}, []int64{1, 1}, 1, 1009 * 8},
		{"columns", 0, []int64{0, 100}, []int64{700, 10}, []int64{1, 1}, 700, 700 * 80},
		{"wide columns: the gaps are read", 0, []int64{0, 100}, []int64{700, 600}, []int64{1, 1}, 7, 700 * 1009 * 8},
		{"every other element", 0, []int64{0, 1}, []int64{700, 504}, []int64{1, 2}, 7, 700 * 1009 * 8},
		{"every 1,000th element: not the wide gaps", 0, []int64{0, 0}, []int64{700, 2}, []int64{1, 1000}, 701, 8 * 10 * 700},
		{"every row of records", 1, []int64{0, 0, 0}, []int64{3, 700, 1009}, []int64{1, 1, 1}, 6, 3 * 700 * 1009 * 2},
		{"one record", 1, []int64{2, 0, 0}, []int64{1, 700, 1009}, []int64{1, 1, 1}, 2, 700 * 1009 * 2},
		{"a single element", 1, []int64{2, 699, 1008}, []int64{1, 1, 1}, []int64{1, 1, 1}, 1, 2},
		{"tiny records", 2, nil, nil, nil, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			dims := r.Dims(c.v)
			start, count, stride := c.start, c.count, c.stride
			if start == nil {
				start, count = make([]int64, len(dims)), dims
			}
			if stride == nil {
				stride = ones(len(dims))
			}
			want := pickSlab(values[c.v], dims, start, count, stride)
			n := reflect.ValueOf(want).Len()
			got := reflect.MakeSlice(reflect.TypeOf(want), n, n).Interface()
			f.reads, f.bytes = 0, 0
			if err := r.Read(c.v, c.start, c.count, c.stride, got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatal("values differ")
			}
			if f.reads > c.reads || f.bytes > c.bytes {
				t.Errorf("%d reads of %d bytes, want at most %d of %d", f.reads, f.bytes, c.reads, c.bytes)
			}
			floats := make([]float32, n)
			if err := r.Read(c.v, c.start, c.count, c.stride, floats); err != nil {
				t.Fatal(err)
			}
			for i, x := range floats {
				if w := reflect.ValueOf(want).Index(i).Convert(reflect.TypeFor[float32]()).Interface().(float32); x != w {
					t.Fatalf("as float32: element %d is %v, want %v", i, x, w)
				}
			}
		})
	}
	f.bytes = 0
	if f.open(t); f.bytes > 128<<10 {
		t.Errorf("opening a file of %d bytes reads %d", len(f.b), f.bytes)
	}
}

// TestRead4D: more axes than one outside of the run.
func TestRead4D(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "t"}, {Name: "a", Len: 5}, {Name: "b", Len: 6}, {Name: "c", Len: 7}, {Name: "d", Len: 8}},
		Vars: []cdf5.Var{{Name: "v", Type: cdf5.Int, Dims: []int{0, 1, 2, 3, 4}}, {Name: "w", Type: cdf5.UShort, Dims: []int{0, 2, 3}}}}
	f, values := makeFile(t, h, 3)
	r := f.open(t)
	start, count, stride := []int64{0, 1, 0, 2, 1}, []int64{2, 2, 3, 3, 2}, []int64{2, 3, 2, 1, 4}
	want := pickSlab(values[0], r.Dims(0), start, count, stride).([]int32)
	got := make([]int32, len(want))
	if err := r.Read(0, start, count, stride, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
	// Written back the same way, without the strides.
	g := &memFile{}
	w, err := cdf5.NewWriter(g, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := pickSlab(values[0], r.Dims(0), start, count, ones(5))
	if err := errors.Join(w.Write(0, start, count, part), w.Close()); err != nil {
		t.Fatal(err)
	}
	back := make([]int32, len(got))
	if err := g.open(t).Read(0, start, count, nil, back); err != nil || !reflect.DeepEqual(back, part) {
		t.Errorf("%v: %v, want %v", err, back, part)
	}
}

func ones(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func TestReadRaw(t *testing.T) {
	f, values := makeFile(t, sample(cdf5.CDF5, 0), 3)
	r := f.open(t)
	v := r.Header().VarIndex("r_int64")
	b := make([]byte, 3*8)
	if err := r.ReadRaw(v, 2, 1, b); err != nil {
		t.Fatal(err)
	}
	got := make([]int64, 3)
	if err := cdf5.FromFile(got, b, true, cdf5.Int64); err != nil {
		t.Fatal(err)
	}
	if want := values[v].([]int64)[11:14]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, err := range map[string]error{
		"past the record":  r.ReadRaw(v, 0, 3, b),
		"no such record":   r.ReadRaw(v, 3, 0, b),
		"record -1":        r.ReadRaw(v, -1, 0, b),
		"element -1":       r.ReadRaw(v, 0, -1, b),
		"half an element":  r.ReadRaw(v, 0, 0, b[:12]),
		"no such variable": r.ReadRaw(99, 0, 0, b),
	} {
		if !errors.Is(err, cdf5.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadUsage(t *testing.T) {
	f, _ := makeFile(t, sample(cdf5.CDF2, 0), 3)
	r := f.open(t)
	v := r.Header().VarIndex("r_int")
	four := make([]int32, 4)
	for name, err := range map[string]error{
		"variable":       r.Read(99, nil, nil, nil, four),
		"rank of start":  r.Read(v, []int64{0}, nil, nil, four),
		"rank of count":  r.Read(v, nil, []int64{1, 2, 2}, nil, four),
		"start":          r.Read(v, []int64{0, 6}, []int64{1, 0}, nil, four),
		"negative start": r.Read(v, []int64{-1, 0}, []int64{1, 4}, nil, four),
		"count":          r.Read(v, []int64{0, 2}, []int64{1, 4}, nil, four),
		"negative count": r.Read(v, []int64{0, 2}, []int64{-1, -4}, nil, four),
		"record":         r.Read(v, []int64{3, 0}, []int64{1, 4}, nil, four),
		"stride":         r.Read(v, []int64{0, 0}, []int64{1, 4}, []int64{1, 2}, four),
		"stride 0":       r.Read(v, []int64{0, 0}, []int64{1, 4}, []int64{1, 0}, four),
		"stride 2^62":    r.Read(v, []int64{0, 0}, []int64{1, 4}, []int64{1, 1 << 62}, four),
		"short slice":    r.Read(v, []int64{0, 0}, []int64{1, 5}, nil, four),
		"long slice":     r.Read(v, []int64{0, 0}, []int64{1, 3}, nil, four),
		"a string":       r.Read(v, []int64{0, 0}, []int64{1, 3}, nil, "abc"),
		"not a slice":    r.Read(v, nil, nil, nil, 3),
	} {
		if !errors.Is(err, cdf5.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Read(v, []int64{1, 0}, []int64{1, 1}, []int64{1 << 62, 1 << 62}, four[:1]); err != nil {
		t.Errorf("one element by a huge stride: %v", err)
	}
	// Byte of CDF-2 has no sign of its own.
	b := r.Header().VarIndex("f_byte")
	signed, unsigned := make([]int8, 15), make([]uint8, 15)
	if err := errors.Join(r.Read(b, nil, nil, nil, signed), r.Read(b, nil, nil, nil, unsigned)); err != nil {
		t.Fatal(err)
	}
	for i := range signed {
		if uint8(signed[i]) != unsigned[i] {
			t.Errorf("byte %d: %d and %d", i, signed[i], unsigned[i])
		}
	}
	var re *cdf5.RangeError
	small := make([]uint8, 15)
	if err := r.Read(r.Header().VarIndex("f_short"), nil, nil, nil, small); !errors.As(err, &re) {
		t.Errorf("negative shorts into []uint8: %v", err)
	}
}

// TestRangeErrorIndex: the index counts in the whole destination, across
// windows.
func TestRangeErrorIndex(t *testing.T) {
	const n, bad = 1 << 20, 1<<20 - 7
	h := &cdf5.Header{Version: cdf5.CDF1, Dims: []cdf5.Dim{{Name: "n", Len: n}}, Vars: []cdf5.Var{{Name: "v", Type: cdf5.Int, Dims: []int{0}}}}
	data := make([]int32, n)
	data[bad] = 1 << 20
	f := &memFile{}
	w, err := cdf5.NewWriter(f, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(0, nil, nil, data), w.Close()); err != nil {
		t.Fatal(err)
	}
	var re *cdf5.RangeError
	if err := f.open(t).Read(0, nil, nil, nil, make([]int16, n)); !errors.As(err, &re) || re.Index != bad {
		t.Errorf("%v, want element %d", err, bad)
	}
	tooLong := make([]float64, n)
	tooLong[bad] = 1e10
	before := bytes.Clone(f.b)
	w, err = cdf5.NewWriter(f, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(0, nil, nil, tooLong); !errors.As(err, &re) || re.Index != bad {
		t.Errorf("%v, want element %d", err, bad)
	}
	if !bytes.Equal(f.b, before) {
		t.Error("a write with a value out of range wrote something")
	}
}

func TestReadTruncated(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF1, Dims: []cdf5.Dim{{Name: "t"}, {Name: "n", Len: 3}},
		Vars: []cdf5.Var{{Name: "a", Type: cdf5.Short, Dims: []int{0, 1}}, {Name: "b", Type: cdf5.Byte, Dims: []int{0, 1}}}}
	f, values := makeFile(t, h, 2)
	whole := f.b
	f.b = whole[:len(whole)-1] // the pad of the last variable
	r := f.open(t)
	if got, err := r.ReadAll(1); err != nil || !reflect.DeepEqual(got, values[1]) || r.Missing() != 0 {
		t.Errorf("without the last pad: %v, %v, %d missing", got, err, r.Missing())
	}
	f.b = whole[:len(whole)-2]
	r = f.open(t)
	if r.Missing() != 1 {
		t.Errorf("Missing %d, want 1", r.Missing())
	}
	var fe *cdf5.FormatError
	if _, err := r.ReadAll(1); !errors.Is(err, cdf5.ErrTruncated) || !errors.As(err, &fe) || fe.Offset != int64(len(f.b)) || fe.File != "mem.nc" {
		t.Errorf("%v", err)
	}
	if got, err := r.ReadAll(0); err != nil || !reflect.DeepEqual(got, values[0]) {
		t.Errorf("the other variable: %v, %v", got, err)
	}
	one := make([]int8, 3)
	if err := r.Read(1, []int64{0, 0}, []int64{1, 3}, nil, one); err != nil {
		t.Errorf("the first record: %v", err)
	}
	// A reader that ends before the size that was told.
	r, err := cdf5.NewReader(bytes.NewReader(f.b), int64(len(whole)), "short.nc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAll(1); !errors.Is(err, cdf5.ErrTruncated) {
		t.Errorf("%v", err)
	}
	// An error of the reader is kept.
	b := golden(t, "cdf1")
	r, err = cdf5.NewReader(&failAfter{bytes.NewReader(b), 1}, int64(len(b)), "io.nc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAll(1); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
}

type failAfter struct {
	r io.ReaderAt
	n int
}

func (f *failAfter) ReadAt(p []byte, off int64) (int, error) {
	if f.n--; f.n < 0 {
		return 0, io.ErrNoProgress
	}
	return f.r.ReadAt(p, off)
}

// TestSparse: dimensions and variables beyond 2^31 and 2^32.
func TestSparse(t *testing.T) {
	const n = 1<<32 + 10
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "t"}, {Name: "n", Len: n}, {Name: "two", Len: 2}},
		Vars: []cdf5.Var{
			{Name: "wide", Type: cdf5.Double, Dims: []int{2, 1}},
			{Name: "rec", Type: cdf5.Int, Dims: []int{0, 1}},
			{Name: "end", Type: cdf5.UByte, Dims: []int{0}},
		}}
	f := &sparseFile{}
	w, err := cdf5.NewWriter(f, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range []error{
		w.Write(0, []int64{1, n - 3}, []int64{1, 3}, []float64{1, 2, 3}),
		w.Write(1, []int64{5, n - 2}, []int64{1, 2}, []int32{4, 5}),
		w.Write(2, []int64{5}, []int64{1}, []byte{6}),
		w.Close(),
	} {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if want := h.EncodedLen() + 2*n*8 + 6*(n*4+4); f.size != want {
		t.Errorf("file of %d bytes, want %d", f.size, want)
	}
	r, err := cdf5.NewReader(f, f.size, "sparse.nc")
	if err != nil {
		t.Fatal(err)
	}
	wide := make([]float64, 4)
	if err := r.Read(0, []int64{1, n - 4}, []int64{1, 4}, nil, wide); err != nil || !reflect.DeepEqual(wide, []float64{0, 1, 2, 3}) {
		t.Errorf("wide: %v, %v", wide, err)
	}
	rec := make([]int32, 12)
	if err := r.Read(1, []int64{0, n - 2}, []int64{6, 2}, nil, rec); err != nil || rec[10] != 4 || rec[11] != 5 {
		t.Errorf("rec: %v, %v", rec, err)
	}
	if end, err := r.ReadAll(2); err != nil || !reflect.DeepEqual(end, []byte{0, 0, 0, 0, 0, 6}) {
		t.Errorf("end: %v, %v", end, err)
	}
}
