package blob

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"pgregory.net/rapid"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/decomp"
)

// model is the expected content of a dataset in canonical terms. Tests compare all ways of writing and reading with it.
type model struct {
	s       *dataset.Schema
	maps    []*decomp.Map // D1 first
	ranks   int
	records int64
	seed    int64
	absent  map[rankRec]bool // puts that this rank omits; the elements read as fill values
	seeds   map[int64]int64  // seeds of records that do not use seed

	since        int64                 // if more is set: the first record with the variables that more defines
	first, later *dataset.Schema       // if more is set: the schemas of the records before since, and of all records
	more         func(*dataset.Schema) // definitions of an append; nil: none
}

// extended returns a model in which an append adds the definitions of more from record since on. If the model has fewer
// records, the variables do not exist.
func (m *model) extended(since int64, more func(*dataset.Schema)) *model {
	c, s := *m, *m.s
	s.Dims, s.Vars = slices.Clip(s.Dims), slices.Clip(s.Vars)
	more(&s)
	c.since, c.first, c.later, c.more = since, m.s, &s, more
	return c.upTo(m.records)
}

// rankRec identifies a put; rank -1 stands for all ranks.
type rankRec struct {
	v    dataset.VarID
	rec  int64
	rank int
}

func (m *model) isAbsent(v dataset.VarID, rec int64, rank int) bool {
	early := m.more != nil && int(v) >= len(m.first.Vars) && rec < m.since
	return early || m.absent[rankRec{v, rec, rank}] || m.absent[rankRec{v, rec, -1}]
}

// x returns the value of an element. It is exact in the variable's type. For wide types, each variable, record and element has
// another value.
func (m *model) x(v dataset.VarID, rec, at int64) float64 {
	if s, ok := m.seeds[rec]; ok && m.s.Vars[v].Record {
		m = &model{s: m.s, seed: s}
	}
	n := (int64(v)+1)*400_000 + rec*40_000 + at // at < 40,000, rec < 10, v < 40: below 2^24
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, n)
	k := h.Sum64()
	switch t := m.s.Vars[v].Type; t {
	case cdf5.Byte, cdf5.UByte, cdf5.Char:
		return float64(k % 127)
	case cdf5.Short, cdf5.UShort:
		return float64(k % 32000)
	case cdf5.UInt, cdf5.UInt64:
		return float64((n + m.seed*17) % (1 << 24))
	case cdf5.Float:
		return float64((n+m.seed*17)%(1<<24)) - 1<<23
	}
	return float64(n+m.seed*17) * -1
}

// appendElem appends one big-endian element of a file type.
func appendElem(b []byte, t cdf5.Type, x float64) []byte {
	switch t {
	case cdf5.Byte:
		return append(b, byte(int8(x)))
	case cdf5.UByte, cdf5.Char:
		return append(b, byte(x))
	case cdf5.Short:
		return binary.BigEndian.AppendUint16(b, uint16(int16(x)))
	case cdf5.UShort:
		return binary.BigEndian.AppendUint16(b, uint16(x))
	case cdf5.Int:
		return binary.BigEndian.AppendUint32(b, uint32(int32(x)))
	case cdf5.UInt:
		return binary.BigEndian.AppendUint32(b, uint32(x))
	case cdf5.Int64:
		return binary.BigEndian.AppendUint64(b, uint64(int64(x)))
	case cdf5.UInt64:
		return binary.BigEndian.AppendUint64(b, uint64(x))
	case cdf5.Float:
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return binary.BigEndian.AppendUint64(b, math.Float64bits(x))
}

// netcdfFill has netCDF's default fill values, from the NetCDF User's Guide.
var netcdfFill = map[cdf5.Type][]byte{
	cdf5.Byte: {0x81}, cdf5.Char: {0}, cdf5.Short: {0x80, 1}, cdf5.Int: {0x80, 0, 0, 1},
	cdf5.Float: {0x7c, 0xf0, 0, 0}, cdf5.Double: {0x47, 0x9e, 0, 0, 0, 0, 0, 0},
	cdf5.UByte: {255}, cdf5.UShort: {255, 255}, cdf5.UInt: {255, 255, 255, 255},
	cdf5.Int64: {0x80, 0, 0, 0, 0, 0, 0, 2}, cdf5.UInt64: {255, 255, 255, 255, 255, 255, 255, 254},
}

func (m *model) fill(v dataset.VarID) []byte {
	for _, a := range m.s.Vars[v].Atts {
		if a.Name == "_FillValue" {
			b, _ := appendValues(nil, a.Value)
			return b
		}
	}
	return netcdfFill[m.s.Vars[v].Type]
}

func appendValues(b []byte, v any) ([]byte, int) {
	if s, ok := v.(string); ok {
		return append(b, s...), len(s)
	}
	buf := bytes.NewBuffer(b)
	must(binary.Write(buf, binary.BigEndian, v))
	n, _, _ := cdf5.SliceLen(v)
	return buf.Bytes(), n
}

// owners returns, for each element of a variable, the rank that owns it, or -1. All elements of a variable without a
// decomposition belong to rank 0.
func (m *model) owners(v dataset.VarID) []int {
	o := make([]int, m.s.Elems(v))
	d := m.s.Vars[v].Decomp
	if d == 0 {
		return o
	}
	for i := range o {
		o[i] = -1
	}
	for r := range m.ranks {
		for q := range m.maps[d-1].Reqs(r) {
			for k := range q.Length {
				o[q.Offset+k] = r
			}
		}
	}
	return o
}

// bytes returns one record of a variable in canonical order, big-endian. If zero is set, elements without an owner are zeros
// instead of fill values.
func (m *model) bytes(v dataset.VarID, rec int64, zero bool) []byte {
	sv := &m.s.Vars[v]
	var b []byte
	for at, r := range m.owners(v) {
		switch {
		case r < 0 && zero:
			b = append(b, make([]byte, sv.Type.Size())...)
		case r < 0 || m.isAbsent(v, rec, r):
			b = append(b, m.fill(v)...)
		default:
			b = appendElem(b, sv.Type, m.x(v, rec, int64(at)))
		}
	}
	return b
}

// canonical returns the bytes of the dataset's CDF-5 file. It implements the format independently of the code under test.
func (m *model) canonical(zero bool) []byte {
	return m.canonicalOf(func(v dataset.VarID, rec int64) []byte { return m.bytes(v, rec, zero) })
}

func (m *model) canonicalOf(data func(v dataset.VarID, rec int64) []byte) []byte {
	u64 := binary.BigEndian.AppendUint64
	u32 := binary.BigEndian.AppendUint32
	pad := func(b []byte) []byte {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return b
	}
	str := func(b []byte, s string) []byte { return pad(append(u64(b, uint64(len(s))), s...)) }
	list := func(b []byte, tag uint32, n int) []byte {
		if n == 0 {
			tag = 0
		}
		return u64(u32(b, tag), uint64(n))
	}
	atts := func(b []byte, l []cdf5.Att) []byte {
		b = list(b, 12, len(l))
		for _, a := range l {
			vals, n := appendValues(nil, a.Value)
			b = pad(append(u64(u32(str(b, a.Name), uint32(a.Type)), uint64(n)), vals...))
		}
		return b
	}
	header := func(begins []uint64) []byte {
		b := u64([]byte("CDF\x05"), uint64(m.records))
		b = list(b, 10, len(m.s.Dims))
		for _, d := range m.s.Dims {
			b = u64(str(b, d.Name), uint64(d.Len))
		}
		b = atts(b, m.s.Atts)
		b = list(b, 11, len(m.s.Vars))
		for i, v := range m.s.Vars {
			b = u64(str(b, v.Name), uint64(len(v.Dims)))
			for _, d := range v.Dims {
				b = u64(b, uint64(d))
			}
			b = u32(atts(b, v.Atts), uint32(v.Type))
			size := uint64(m.s.Elems(dataset.VarID(i))) * uint64(v.Type.Size())
			b = u64(u64(b, (size+3)/4*4), begins[i])
		}
		return b
	}
	begins := make([]uint64, len(m.s.Vars))
	at := uint64(len(header(begins)))
	nrec := 0
	for i, v := range m.s.Vars {
		if v.Record {
			nrec++
			continue
		}
		begins[i] = at
		at += (uint64(m.s.Elems(dataset.VarID(i)))*uint64(v.Type.Size()) + 3) / 4 * 4
	}
	for i, v := range m.s.Vars {
		if v.Record {
			begins[i] = at
			at += (uint64(m.s.Elems(dataset.VarID(i)))*uint64(v.Type.Size()) + 3) / 4 * 4
		}
	}
	b := header(begins)
	for i, v := range m.s.Vars {
		if !v.Record {
			b = pad(append(b, data(dataset.VarID(i), 0)...))
		}
	}
	for rec := range m.records {
		for i, v := range m.s.Vars {
			if v.Record {
				b = append(b, data(dataset.VarID(i), rec)...)
				if nrec > 1 { // a file with a single record variable has no padding
					b = pad(b)
				}
			}
		}
	}
	return b
}

// upTo returns the model with another number of records.
func (m *model) upTo(records int64) *model {
	c := *m
	c.records = records
	if m.more != nil && records > m.since {
		c.s = m.later
	} else if m.more != nil {
		c.s = m.first
	}
	return &c
}

// tinyModel returns the model for crash and fault tests. It has fixed and record variables, with and without a decomposition,
// an element without an owner, and a rank without elements.
func tinyModel(seed, records int64) *model { return tinyModelOf(seed, records, 4) }

// extendTiny adds record variables with and without a decomposition, and a dimension, to tinyModel.
func extendTiny(s *dataset.Schema) {
	k := s.Dim("bnds", 2)
	s.Var("Q", cdf5.Float, []dataset.DimID{0, 1}, dataset.Decomposed(1), dataset.Att("_FillValue", float32(-7)))
	s.Var("time_bnds", cdf5.Double, []dataset.DimID{0, k})
}

// tinyModelOf is tinyModel with fewer ranks: each rank gets the elements of one or more of the four ranks.
func tinyModelOf(seed, records int64, ranks int) *model {
	const cols = 7
	s := dataset.NewSchema()
	tm := s.Dim("time", dataset.Unlimited)
	col := s.Dim("ncol", cols)
	d := s.Decomp(col)
	s.GlobalAtt("title", "tiny")
	s.Var("area", cdf5.Double, []dataset.DimID{col}, dataset.Decomposed(d))
	s.Var("T", cdf5.Float, []dataset.DimID{tm, col}, dataset.Decomposed(d), dataset.Att("_FillValue", float32(-1)))
	s.Var("flag", cdf5.Short, []dataset.DimID{tm, col}, dataset.Decomposed(d))
	s.Var("time", cdf5.Double, []dataset.DimID{tm})
	b := decomp.NewBuilder([]int64{cols}, ranks)
	reqs := make([][]decomp.Req, ranks)
	for rank, l := range [][]decomp.Req{{{Offset: 4, Length: 2}, {Offset: 0, Length: 1}}, {{Offset: 1, Length: 2}}, nil, {{Offset: 6, Length: 1}}} {
		reqs[rank%ranks] = append(reqs[rank%ranks], l...) // not in ascending order; element 3 has no owner, and the third rank no elements
	}
	for rank, l := range reqs {
		must(b.Set(rank, l))
	}
	m := need(b.Map())
	return &model{s: s, maps: []*decomp.Map{m}, ranks: ranks, records: records, seed: seed}
}

// drawModel draws a dataset: types, dimensions, maps with unowned elements and idle ranks, and puts to omit. If ranks is 0,
// drawModel draws the number of ranks.
func drawModel(t *rapid.T, ranks int) *model {
	m := &model{s: dataset.NewSchema(), seed: rapid.Int64Range(1, 1000).Draw(t, "seed"), ranks: ranks, absent: map[rankRec]bool{}}
	s := m.s
	if ranks == 0 {
		m.ranks = rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(1, 64)).Draw(t, "ranks")
	}
	types := []cdf5.Type{cdf5.Byte, cdf5.Char, cdf5.Short, cdf5.Int, cdf5.Float, cdf5.Double, cdf5.UByte, cdf5.UShort, cdf5.UInt, cdf5.Int64, cdf5.UInt64}
	time := s.Dim("time", dataset.Unlimited)
	var dims []dataset.DimID
	for i := range rapid.IntRange(1, 3).Draw(t, "ndims") {
		dims = append(dims, s.Dim(fmt.Sprintf("dim%d", i), rapid.Int64Range(1, 9).Draw(t, "len")))
	}
	someDims := func(least int) []dataset.DimID {
		return rapid.SliceOfN(rapid.SampledFrom(dims), least, 3).Draw(t, "dims")
	}
	if rapid.Bool().Draw(t, "globalAtts") {
		s.GlobalAtt("title", rapid.StringMatching("[a-z ]{0,9}").Draw(t, "title"))
		s.GlobalAtt("numbers", []int16{1, 2, 3})
	}
	for range rapid.IntRange(0, 3).Draw(t, "maps") {
		d := s.Decomp(someDims(1)...)
		m.maps = append(m.maps, drawMap(t, s.DecompDims(d), m.ranks))
	}
	variable := func(i int, record bool, ty cdf5.Type) {
		var vd []dataset.DimID
		var opts []dataset.VarOption
		if record {
			vd = append(vd, time)
		}
		if len(m.maps) > 0 && rapid.IntRange(0, 3).Draw(t, "decomposed") > 0 {
			d := dataset.DecompID(rapid.IntRange(1, len(m.maps)).Draw(t, "map"))
			vd = append(vd, s.Decomps[d-1]...)
			opts = append(opts, dataset.Decomposed(d))
		} else {
			vd = append(vd, someDims(0)...)
		}
		if rapid.Bool().Draw(t, "units") {
			opts = append(opts, dataset.Att("units", "m s-1"))
		}
		if ty == cdf5.Float && rapid.Bool().Draw(t, "fill") {
			opts = append(opts, dataset.Att("_FillValue", float32(-1e30)))
		}
		s.Var(fmt.Sprintf("var%d", i), ty, vd, opts...)
	}
	nrec := 0
	if rapid.IntRange(0, 4).Draw(t, "lone") == 0 { // a single record variable, which the format stores without padding
		variable(0, true, rapid.SampledFrom([]cdf5.Type{cdf5.Short, cdf5.Char, cdf5.Byte, cdf5.UShort}).Draw(t, "type"))
		variable(1, false, cdf5.Short)
		nrec = 1
	} else {
		for i := range rapid.IntRange(1, 6).Draw(t, "vars") {
			rec := rapid.IntRange(0, 2).Draw(t, "record") > 0
			variable(i, rec, rapid.SampledFrom(types).Draw(t, "type"))
			if rec {
				nrec++
			}
		}
	}
	must(s.Err)
	if nrec > 0 {
		m.records = rapid.Int64Range(0, 5).Draw(t, "records")
	}
	for v := range s.Vars { // all ranks or one rank omit some puts
		switch rapid.IntRange(0, 5).Draw(t, "put") {
		case 0:
			for rec := range max(m.records, 1) {
				m.absent[rankRec{dataset.VarID(v), rec, -1}] = true
			}
		case 1:
			m.absent[rankRec{dataset.VarID(v), rapid.Int64Range(0, 4).Draw(t, "absentRecord"), -1}] = true
		case 2:
			if s.Vars[v].Decomp != 0 {
				m.absent[rankRec{dataset.VarID(v), 0, rapid.IntRange(0, m.ranks-1).Draw(t, "absentRank")}] = true
			}
		}
	}
	return m
}

// drawMap draws owners of elements. Some elements have no owner, some ranks own nothing, and requests are in any order.
func drawMap(t *rapid.T, dims []int64, ranks int) *decomp.Map {
	n, last := dataset.Product(dims), dims[len(dims)-1]
	style := rapid.SampledFrom([]string{"random", "runs", "block", "nothing", "one"}).Draw(t, "style")
	owners := rapid.IntRange(1, ranks).Draw(t, "owners")
	rnd := rapid.Uint64().Draw(t, "deal")
	reqs := make([][]decomp.Req, ranks)
	for at := int64(0); at < n; at++ {
		h := dataset.Mix(rnd ^ uint64(at))
		r := int(h>>8) % owners
		switch style {
		case "runs":
			r = int(dataset.Mix(rnd^uint64(at/3))>>8) % owners
		case "block":
			r = int(at * int64(owners) / n)
		case "nothing":
			continue
		case "one":
			r = owners - 1
		}
		if r = max(r, 0); style != "block" && h%7 == 0 {
			continue
		}
		if k := len(reqs[r]) - 1; k >= 0 && at%last != 0 && reqs[r][k].Offset+reqs[r][k].Length == at && h%5 != 0 {
			reqs[r][k].Length++
			continue
		}
		reqs[r] = append(reqs[r], decomp.Req{Offset: at, Length: 1})
	}
	b := decomp.NewBuilder(dims, ranks)
	for r := range reqs {
		if rapid.IntRange(0, 3).Draw(t, "unsorted") == 0 {
			slices.SortFunc(reqs[r], func(a, b decomp.Req) int {
				return int(dataset.Mix(uint64(a.Offset))%1000) - int(dataset.Mix(uint64(b.Offset))%1000)
			})
		}
		must(b.Set(r, reqs[r]))
	}
	return need(b.Map())
}
