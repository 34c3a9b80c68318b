package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
)

// model is a dataset as a test wants it to be, in canonical terms, and the one
// thing that all ways of writing and reading are held against.
type model struct {
	s       *Schema
	maps    []*decomp.Map // D1 first
	ranks   int
	records int64
	seed    int64
	absent  map[rankRec]bool // never put by that rank: reads as fill
}

// rankRec names one put; rank -1 stands for all ranks.
type rankRec struct {
	v    VarID
	rec  int64
	rank int
}

func (m *model) isAbsent(v VarID, rec int64, rank int) bool {
	return m.absent[rankRec{v, rec, rank}] || m.absent[rankRec{v, rec, -1}]
}

// x is the value of an element: small enough to be exact in the type, and for
// the wide types different for each (variable, record, element).
func (m *model) x(v VarID, rec, at int64) float64 {
	n := (int64(v)+1)*400_000 + rec*40_000 + at // at < 40,000, rec < 10, v < 40: below 2^24
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, n)
	k := h.Sum64()
	switch t := m.s.vars[v].Type; t {
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

// netcdfFill are the default fill values of netCDF, from its user's guide.
var netcdfFill = map[cdf5.Type][]byte{
	cdf5.Byte: {0x81}, cdf5.Char: {0}, cdf5.Short: {0x80, 1}, cdf5.Int: {0x80, 0, 0, 1},
	cdf5.Float: {0x7c, 0xf0, 0, 0}, cdf5.Double: {0x47, 0x9e, 0, 0, 0, 0, 0, 0},
	cdf5.UByte: {255}, cdf5.UShort: {255, 255}, cdf5.UInt: {255, 255, 255, 255},
	cdf5.Int64: {0x80, 0, 0, 0, 0, 0, 0, 2}, cdf5.UInt64: {255, 255, 255, 255, 255, 255, 255, 254},
}

func (m *model) fill(v VarID) []byte {
	for _, a := range m.s.vars[v].Atts {
		if a.Name == "_FillValue" {
			b, _ := appendValues(nil, a.Value)
			return b
		}
	}
	return netcdfFill[m.s.vars[v].Type]
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

// owners says which rank owns each element of a variable, -1 for none. What is
// not decomposed is rank 0's.
func (m *model) owners(v VarID) []int {
	o := make([]int, m.s.Elems(v))
	d := m.s.vars[v].Decomp
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

// bytes of one record of a variable, in canonical order, big-endian. zero: what
// no rank owns is zeros.
func (m *model) bytes(v VarID, rec int64, zero bool) []byte {
	sv := &m.s.vars[v]
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

// canonical is the ordinary CDF-5 file of the dataset, made from the format's
// description alone.
func (m *model) canonical(zero bool) []byte {
	return m.canonicalOf(func(v VarID, rec int64) []byte { return m.bytes(v, rec, zero) })
}

func (m *model) canonicalOf(data func(v VarID, rec int64) []byte) []byte {
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
		b = list(b, 10, len(m.s.dims))
		for _, d := range m.s.dims {
			b = u64(str(b, d.Name), uint64(d.Len))
		}
		b = atts(b, m.s.atts)
		b = list(b, 11, len(m.s.vars))
		for i, v := range m.s.vars {
			b = u64(str(b, v.Name), uint64(len(v.Dims)))
			for _, d := range v.Dims {
				b = u64(b, uint64(d))
			}
			b = u32(atts(b, v.Atts), uint32(v.Type))
			size := uint64(m.s.Elems(VarID(i))) * uint64(v.Type.Size())
			b = u64(u64(b, (size+3)/4*4), begins[i])
		}
		return b
	}
	begins := make([]uint64, len(m.s.vars))
	at := uint64(len(header(begins)))
	nrec := 0
	for i, v := range m.s.vars {
		if v.Record {
			nrec++
			continue
		}
		begins[i] = at
		at += (uint64(m.s.Elems(VarID(i)))*uint64(v.Type.Size()) + 3) / 4 * 4
	}
	for i, v := range m.s.vars {
		if v.Record {
			begins[i] = at
			at += (uint64(m.s.Elems(VarID(i)))*uint64(v.Type.Size()) + 3) / 4 * 4
		}
	}
	b := header(begins)
	for i, v := range m.s.vars {
		if !v.Record {
			b = pad(append(b, data(VarID(i), 0)...))
		}
	}
	for rec := range m.records {
		for i, v := range m.s.vars {
			if v.Record {
				b = append(b, data(VarID(i), rec)...)
				if nrec > 1 { // a lone record variable is not padded
					b = pad(b)
				}
			}
		}
	}
	return b
}

// upTo is the same dataset with fewer (or more) records.
func (m *model) upTo(records int64) *model {
	c := *m
	c.records = records
	return &c
}

func (m *model) parts(rank int) (p []Part) {
	for d := range m.maps {
		p = append(p, Part{DecompID(d + 1), m.maps[d].AppendReqs(nil, rank)})
	}
	return p
}

// mine is what a rank puts of a variable's record.
func (m *model) mine(v VarID, rec int64, rank int) (x []float64) {
	x = []float64{}
	d := m.s.vars[v].Decomp
	if d == 0 {
		for at := range m.s.Elems(v) {
			x = append(x, m.x(v, rec, at))
		}
		return x
	}
	for q := range m.maps[d-1].Reqs(rank) {
		for k := range q.Length {
			x = append(x, m.x(v, rec, q.Offset+k))
		}
	}
	return x
}

// put puts one record of a variable in a memory type chosen by pick. What it
// lent is given to lent, as something that spoils it.
func (m *model) put(w *Writer, v VarID, rec int64, rank int, pick uint64, lent func(spoil func())) error {
	sv := &m.s.vars[v]
	id, ok := w.Schema().VarID(sv.Name)
	if !ok {
		return fmt.Errorf("no variable %q", sv.Name)
	}
	x := m.mine(v, rec, rank)
	if sv.Decomp == 0 && pick%3 == 0 && len(x) > 1 {
		shape := m.s.Shape(v)
		if len(shape) > 0 && shape[0] > 1 { // in two parts, the second first
			row := product(shape[1:])
			half := shape[0] / 2
			start, count := make([]int64, len(shape)), append([]int64(nil), shape...)
			start[0], count[0] = half, shape[0]-half
			if err := putAs(w, id, rec, start, count, sv.Type, x[half*row:], pick/3, lent); err != nil {
				return err
			}
			start[0], count[0] = 0, half
			return putAs(w, id, rec, start, count, sv.Type, x[:half*row], pick/3, lent)
		}
	}
	return putAs(w, id, rec, nil, nil, sv.Type, x, pick/3, lent)
}

func putAs(w *Writer, id VarID, rec int64, start, count []int64, t cdf5.Type, x []float64, pick uint64, lent func(func())) error {
	natural := map[cdf5.Type]int{cdf5.Byte: 0, cdf5.Char: 1, cdf5.UByte: 1, cdf5.Short: 2, cdf5.UShort: 3, cdf5.Int: 4, cdf5.UInt: 5, cdf5.Int64: 6, cdf5.UInt64: 7, cdf5.Float: 8, cdf5.Double: 9}[t]
	wide := []int{natural, 9, 6}
	if t == cdf5.UInt64 || t == cdf5.UByte {
		wide = []int{natural, 9, 7}
	}
	k := wide[pick%3]
	if t == cdf5.Char {
		k = 1
	}
	switch k {
	case 0:
		return putSlice[int8](w, id, rec, start, count, x, lent)
	case 1:
		return putSlice[uint8](w, id, rec, start, count, x, lent)
	case 2:
		return putSlice[int16](w, id, rec, start, count, x, lent)
	case 3:
		return putSlice[uint16](w, id, rec, start, count, x, lent)
	case 4:
		return putSlice[int32](w, id, rec, start, count, x, lent)
	case 5:
		return putSlice[uint32](w, id, rec, start, count, x, lent)
	case 6:
		return putSlice[int64](w, id, rec, start, count, x, lent)
	case 7:
		return putSlice[uint64](w, id, rec, start, count, x, lent)
	case 8:
		return putSlice[float32](w, id, rec, start, count, x, lent)
	}
	return putSlice[float64](w, id, rec, start, count, x, lent)
}

func putSlice[T Number](w *Writer, id VarID, rec int64, start, count []int64, x []float64, lent func(func())) error {
	data := make([]T, len(x))
	for i := range x {
		data[i] = T(x[i])
	}
	if lent != nil {
		lent(func() {
			for i := range data {
				data[i] = 99
			}
		})
	}
	if start == nil {
		return Put(w, id, rec, data)
	}
	return PutAt(w, id, rec, start, count, data)
}

// putRecord puts everything of one record, and the fixed variables with it if asked.
func (m *model) putRecord(w *Writer, rec int64, rank int, fixed bool) error {
	for v := range m.s.vars {
		sv := &m.s.vars[v]
		if !sv.Record && !fixed || m.isAbsent(VarID(v), rec, rank) {
			continue
		}
		r := rec
		if !sv.Record {
			r = 0
		}
		if err := m.put(w, VarID(v), r, rank, uint64(v), nil); err != nil {
			return err
		}
	}
	return nil
}

// create is one rank's work of a whole session: Create, a flush per record, Close.
func (m *model) create(ctx context.Context, c comm.Comm, base string, o *settings) error {
	w, err := createWith(ctx, c, base, m.s, m.parts(c.Rank()), o)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	for rec := range max(m.records, 1) {
		if m.records == 0 {
			break
		}
		if err := m.putRecord(w, rec, c.Rank(), rec == 0); err != nil {
			return err
		}
		if err := flushOf(w, o)(ctx); err != nil {
			return errors.Join(fmt.Errorf("flush: %w", err), w.Close(ctx))
		}
	}
	if err := w.Close(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// flushOf is how a session with these options flushes: in the background if they have a syncMin.
func flushOf(w *Writer, o *settings) func(context.Context) error {
	if o.syncMin > 0 {
		return w.FlushAsync
	}
	return w.Flush
}

// add is one rank's work of a session that appends up to m.records.
func (m *model) add(ctx context.Context, c comm.Comm, base string, o *settings) error {
	w, err := appendWith(ctx, c, base, m.parts(c.Rank()), o)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	for rec := w.Records(); rec < m.records; rec++ {
		if err := m.putRecord(w, rec, c.Rank(), false); err != nil {
			return err
		}
		if err := flushOf(w, o)(ctx); err != nil {
			return errors.Join(fmt.Errorf("flush: %w", err), w.Close(ctx))
		}
	}
	if err := w.Close(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

// tinyModel is the dataset of the crash and fault tests: both kinds of
// variables, decomposed and not, a hole in the map, a rank without elements.
func tinyModel(seed, records int64) *model {
	const ranks, cols = 4, 7
	s := NewSchema()
	tm := s.Dim("time", Unlimited)
	col := s.Dim("ncol", cols)
	d := s.Decomp(col)
	s.GlobalAtt("title", "tiny")
	s.Var("area", cdf5.Double, []DimID{col}, Decomposed(d))
	s.Var("T", cdf5.Float, []DimID{tm, col}, Decomposed(d), Att("_FillValue", float32(-1)))
	s.Var("flag", cdf5.Short, []DimID{tm, col}, Decomposed(d))
	s.Var("time", cdf5.Double, []DimID{tm})
	b := decomp.NewBuilder([]int64{cols}, ranks)
	must(b.Set(0, []decomp.Req{{Offset: 4, Length: 2}, {Offset: 0, Length: 1}})) // unsorted
	must(b.Set(1, []decomp.Req{{Offset: 1, Length: 2}}))
	must(b.Set(3, []decomp.Req{{Offset: 6, Length: 1}})) // nobody owns 3, rank 2 nothing
	m, err := b.Map()
	must(err)
	return &model{s: s, maps: []*decomp.Map{m}, ranks: ranks, records: records, seed: seed}
}

// canonicalOf reads a dataset wholly: the bytes of its canonical file.
func canonicalOf(fsys vfs.FS, base string) ([]byte, error) {
	ctx := context.Background()
	r, err := openWith(ctx, base, &OpenOptions{Workers: 1}, knobs{fs: fsys})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return convertBytes(ctx, r, &ConvertOptions{Workers: 1})
}

func convertBytes(ctx context.Context, r *Reader, o *ConvertOptions) ([]byte, error) {
	mem := vfs.NewMem()
	o.Durability = DurableNone
	if err := convertWith(ctx, comm.Self(), r, "c.nc", o, knobs{fs: mem}); err != nil {
		return nil, err
	}
	return slurp(mem, "c.nc")
}

func slurp(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err = f.ReadAt(b, 0)
	if n == 0 {
		err = nil
	}
	return b, err
}

// names lists a directory, for messages and for leftovers.
func names(fsys vfs.FS, dir string) (l []string) {
	es, _ := fsys.ReadDir(dir)
	for _, e := range es {
		i, _ := e.Info()
		l = append(l, fmt.Sprintf("%s(%d)", e.Name(), i.Size()))
	}
	return l
}

// checkErrors returns what Check finds wrong: errors, not warnings and notes.
func checkErrors(fsys vfs.FS, base string) (bad []Finding) {
	for f := range checkWith(context.Background(), base, &CheckOptions{Workers: 1}, knobs{fs: fsys}) {
		if f.Severity == Error {
			bad = append(bad, f)
		}
	}
	return bad
}

// firstDiff tells where two files differ.
func firstDiff(got, want []byte) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d: %#x, want %#x (lengths %d, %d)", i, got[i], want[i], len(got), len(want))
		}
	}
	return fmt.Sprintf("lengths %d, want %d", len(got), len(want))
}

func run(n int, f func(ctx context.Context, c comm.Comm) error) error {
	return comm.Run(context.Background(), n, nil, f)
}

// times chooses between the quick test and the long one.
func times(quick, long int) int { return crashtest.Times(quick, long) }

// raced is n with the race detector, else 1: races show in the runs, not in what is left.
func raced(n int) int {
	if raceEnabled {
		return n
	}
	return 1
}
