package virtual

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
)

// toy makes elements from variable, record and index, in units of a few elements. The bad unit cannot be made.
type toy struct {
	h    *cdf5.Header
	unit []int64 // elements per unit, by variable
	bad  func(v int, rec, lo int64) bool
	made atomic.Int64 // number of elements made
}

var errBad = errors.New("damaged")

func (m *toy) Unit(v int, _, at int64) (lo, hi int64) {
	lo = at / m.unit[v] * m.unit[v]
	return lo, min(lo+m.unit[v], m.h.Elems(v))
}

func (m *toy) Make(_ context.Context, v int, rec, lo, hi int64, dst []byte) error {
	for at := lo; at < hi; {
		from, to := m.Unit(v, rec, at)
		if from != at {
			panic("not from the begin of a unit")
		}
		if m.bad != nil && m.bad(v, rec, from) {
			return errBad
		}
		at = to
	}
	m.made.Add(hi - lo)
	size := int64(m.h.Vars[v].Type.Size())
	for i := range dst {
		dst[i] = element(v, rec, lo+int64(i)/size, i%int(size))
	}
	return nil
}

func element(v int, rec, at int64, k int) byte { return byte(v*101 + int(rec)*31 + int(at)*7 + k + 1) }

// drawToy draws a header of fixed and record variables, and units.
func drawToy(t *rapid.T) (*cdf5.Header, *toy) {
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: rapid.Int64Range(0, 4).Draw(t, "records"), Dims: []cdf5.Dim{{Name: "r", Len: 0}}}
	m := &toy{h: h}
	for v := range rapid.IntRange(0, 5).Draw(t, "variables") {
		h.Dims = append(h.Dims, cdf5.Dim{Name: string(rune('a' + v)), Len: rapid.Int64Range(1, 40).Draw(t, "length")})
		x := cdf5.Var{Name: string(rune('A' + v)), Dims: []int{v + 1}, Type: rapid.SampledFrom([]cdf5.Type{cdf5.Byte, cdf5.Short, cdf5.Int, cdf5.Double}).Draw(t, "type")}
		if rapid.Bool().Draw(t, "record") {
			x.Dims = []int{0, v + 1}
		}
		h.Vars = append(h.Vars, x)
		m.unit = append(m.unit, rapid.Int64Range(1, 20).Draw(t, "unit"))
	}
	return h, m
}

// whole returns the expected file, from the offsets in the header.
func whole(t *rapid.T, h *cdf5.Header) []byte {
	out := make([]byte, h.FileSize(h.NumRecs))
	head, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		t.Fatal(err)
	}
	copy(out, head)
	for v := range h.Vars {
		records := int64(1)
		if h.IsRecord(v) {
			records = h.NumRecs
		}
		size := int64(h.Vars[v].Type.Size())
		for rec := range records {
			off, n := h.Extent(v, rec)
			for i := range n {
				out[off+i] = element(v, rec, i/size, int(i%size))
			}
		}
	}
	return out
}

// TestFileProperties: any reads, in any order and concurrent, return the bytes of the file.
func TestFileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, m := drawToy(t)
		f, err := New("toy", h, m, rapid.Int64Range(1, 500).Draw(t, "memory"))
		if err != nil {
			t.Fatal(err)
		}
		want := whole(t, h)
		if f.Size() != int64(len(want)) {
			t.Fatalf("%d bytes, want %d", f.Size(), len(want))
		}
		offs := rapid.SliceOfN(rapid.Int64Range(0, f.Size()+3), 1, 20).Draw(t, "offsets")
		lens := rapid.SliceOfN(rapid.IntRange(0, 300), len(offs), len(offs)).Draw(t, "lengths")
		var wg sync.WaitGroup
		for i, off := range offs {
			wg.Go(func() {
				b := make([]byte, lens[i])
				n, err := f.ReadAt(b, off)
				rest := want[min(off, f.Size()):]
				if n != min(len(b), len(rest)) || !bytes.Equal(b[:n], rest[:n]) || n == len(b) && err != nil || n < len(b) && !errors.Is(err, io.EOF) {
					t.Errorf("%d bytes from %d on: %d, %v", len(b), off, n, err)
				}
			})
		}
		wg.Wait()
		out := make(memory, len(want))
		if err := f.WriteTo(t.Context(), out, 2, nil); err != nil || !bytes.Equal(out, want) {
			t.Errorf("written: %v", err)
		}
	})
}

type memory []byte

func (m memory) WriteAt(b []byte, off int64) (int, error) { return copy(m[off:], b), nil }

// TestFileErrors: a unit that cannot be made gives an error only for its bytes. Bytes before it are valid.
func TestFileErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, m := drawToy(t)
		f, err := New("toy", h, m, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := whole(t, h)
		if len(h.Vars) == 0 {
			return
		}
		v := rapid.IntRange(0, len(h.Vars)-1).Draw(t, "variable")
		if h.IsRecord(v) && h.NumRecs == 0 {
			return
		}
		rec := int64(0)
		if h.IsRecord(v) {
			rec = rapid.Int64Range(0, h.NumRecs-1).Draw(t, "record")
		}
		lo, hi := m.Unit(v, rec, rapid.Int64Range(0, h.Elems(v)-1).Draw(t, "element"))
		m.bad = func(w int, r, at int64) bool { return w == v && r == rec && at == lo }
		begin, _ := h.Extent(v, rec)
		size := int64(h.Vars[v].Type.Size())
		from, to := begin+lo*size, begin+hi*size
		for range 30 {
			off := rapid.Int64Range(0, f.Size()-1).Draw(t, "offset")
			b := make([]byte, min(rapid.Int64Range(1, 200).Draw(t, "length"), f.Size()-off))
			n, err := f.ReadAt(b, off)
			right := len(b)
			if touches := off < to && off+int64(len(b)) > from; touches {
				right = int(max(from-off, 0))
				if !errors.Is(err, errBad) {
					t.Fatalf("%d bytes from %d on: %v, want an error", len(b), off, err)
				}
			} else if err != nil {
				t.Fatalf("%d bytes from %d on: %v", len(b), off, err)
			}
			if n != right || !bytes.Equal(b[:n], want[off:off+int64(n)]) {
				t.Fatalf("%d bytes from %d on: %d are right, want %d", len(b), off, n, right)
			}
		}
	})
}

// TestFileKeeps: small reads of a unit make it once, from any number of readers. If the maker panics, no reader hangs.
func TestFileKeeps(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: 1000}}, Vars: []cdf5.Var{{Name: "A", Type: cdf5.Double, Dims: []int{0}}}}
	m := &toy{h: h, unit: []int64{100}}
	f, err := New("toy", h, m, 0)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var b [7]byte
			for off := h.Vars[0].Begin; off+7 <= f.Size(); off += 7 {
				if _, err := f.ReadAt(b[:], off); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if m.made.Load() != 1000 {
		t.Errorf("%d elements were made, want each once: 1000", m.made.Load())
	}
	if _, err := f.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("read in front of the file")
	}
	g, err := New("toy", h, &toy{h: h, unit: m.unit, bad: func(int, int64, int64) bool { panic("maker") }}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = g.ReadAt(make([]byte, 1), h.Vars[0].Begin)
		}()
	}
}
