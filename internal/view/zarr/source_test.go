package zarr

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"pgregory.net/rapid"

	"blobio/blob"
	"blobio/cdf5"
)

// memory is a Source of arrays in memory, little-endian.
type memory struct {
	schema  *blob.Schema
	records int64
	data    map[string][]byte
	err     error // error of each read
}

func (m *memory) Base() string         { return "memory" }
func (m *memory) Schema() *blob.Schema { return m.schema }
func (m *memory) Records() int64       { return m.records }

func (m *memory) full(id blob.VarID) []int64 {
	full := m.schema.Shape(id)
	if m.schema.Vars()[id].Record {
		full = append([]int64{m.records}, full...)
	}
	return full
}

func (m *memory) ReadBytes(_ context.Context, name string, start, count []int64, dst []byte, big bool) error {
	if m.err != nil {
		return m.err
	}
	id, ok := m.schema.VarID(name)
	full := m.full(id)
	size := int64(m.schema.Vars()[id].Type.Size())
	n := size
	for i := range count {
		if start[i] < 0 || count[i] < 0 || start[i]+count[i] > full[i] {
			return fmt.Errorf("%s: %v %v of %v", name, start, count, full)
		}
		n *= count[i]
	}
	if !ok || big || int64(len(dst)) != n || len(start) != len(full) {
		return fmt.Errorf("read of %q: %v %v into %d bytes", name, start, count, len(dst))
	}
	place := make([]int64, len(full))
	for at := int64(0); at < n; at += size {
		flat, rest := int64(0), at/size
		for i := len(count) - 1; i >= 0; i-- {
			place[i], rest = start[i]+rest%count[i], rest/count[i]
		}
		for i, p := range place {
			flat = flat*full[i] + p
		}
		copy(dst[at:at+size], m.data[name][flat*size:])
	}
	return nil
}

var types = []cdf5.Type{cdf5.Byte, cdf5.Char, cdf5.Short, cdf5.Int, cdf5.Float, cdf5.Double, cdf5.UByte, cdf5.UShort, cdf5.UInt, cdf5.Int64, cdf5.UInt64}

// fills are values of _FillValue, some beyond JSON numbers.
var fills = map[cdf5.Type][]any{
	cdf5.Byte: {[]int8{-128}}, cdf5.Char: {"x", "\xff"}, cdf5.Short: {[]int16{-1}}, cdf5.Int: {[]int32{math.MinInt32}},
	cdf5.Float:  {[]float32{1e20}, []float32{float32(math.NaN())}, []float32{float32(math.Inf(-1))}, []float32{0.1}},
	cdf5.Double: {[]float64{1e36}, []float64{math.NaN()}, []float64{math.Inf(1)}, []float64{math.SmallestNonzeroFloat64}},
	cdf5.UByte:  {[]uint8{255}}, cdf5.UShort: {[]uint16{65535}}, cdf5.UInt: {[]uint32{math.MaxUint32}},
	cdf5.Int64: {[]int64{math.MinInt64}}, cdf5.UInt64: {[]uint64{math.MaxUint64}},
}

func drawSource(t *rapid.T) *memory {
	s := blob.NewSchema()
	m := &memory{schema: s, records: rapid.Int64Range(0, 5).Draw(t, "records"), data: map[string][]byte{}}
	dims := []blob.DimID{s.Dim("time", blob.Unlimited)}
	for i := range 4 {
		dims = append(dims, s.Dim(fmt.Sprint("d", i), rapid.Int64Range(1, 17).Draw(t, "dim")))
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "vars") {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		of := []blob.DimID{}
		if rapid.Bool().Draw(t, "record") {
			of = append(of, dims[0])
		}
		for range rapid.IntRange(0, 3).Draw(t, "rank") {
			of = append(of, dims[rapid.IntRange(1, 4).Draw(t, "d")])
		}
		var fill []cdf5.Att
		if rapid.Bool().Draw(t, "filled") {
			fill = append(fill, cdf5.Att{Name: fillName, Type: typ, Value: rapid.SampledFrom(fills[typ]).Draw(t, "fill")})
		}
		name := fmt.Sprint("v", i)
		id := s.Var(name, typ, of)
		for _, a := range fill {
			s.SetAtt(id, a)
		}
		n := int64(typ.Size())
		for _, l := range m.full(id) {
			n *= l
		}
		b := make([]byte, n)
		rng := rand.New(rand.NewPCG(uint64(i), uint64(n)))
		for k := range b {
			b[k] = byte(rng.Uint32())
		}
		m.data[name] = b
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return m
}

// tiny makes a source with a scalar and a record variable.
func tiny() *memory {
	s := blob.NewSchema()
	time, x := s.Dim("time", blob.Unlimited), s.Dim("x", 3)
	s.Var("v", cdf5.Double, []blob.DimID{time, x})
	s.Var("s", cdf5.Int, nil)
	return &memory{schema: s, records: 2, data: map[string][]byte{"v": make([]byte, 2*3*8), "s": make([]byte, 4)}}
}

func one() *memory {
	s := blob.NewSchema()
	s.Var("s", cdf5.Int, nil)
	return &memory{schema: s, data: map[string][]byte{"s": make([]byte, 4)}}
}
