package pio

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// player runs a random programme on the ranks of one job. All ranks draw the same numbers, and each does its own part.
type player struct {
	m     *model
	r     *rand.Rand
	s     *System
	f     *File
	ctx   context.Context
	large int64    // factor for the length of a dimension
	said  []string // the calls so far
}

func (p *player) say(format string, args ...any) {
	p.said = append(p.said, fmt.Sprintf(format, args...))
}

var types = []cdf5.Type{cdf5.Byte, cdf5.Char, cdf5.Short, cdf5.Int, cdf5.Float, cdf5.Double, cdf5.UByte, cdf5.UShort, cdf5.UInt, cdf5.Int64, cdf5.UInt64}

// define adds a variable, and sometimes a dimension.
func (p *player) define(record bool) error {
	m := p.m
	if len(m.dims) == 0 {
		for i, n := range []int64{Unlimited, 5, 1, 12 * p.large, 3} {
			name := fmt.Sprintf("d%d", i)
			if _, err := p.f.DefDim(name, n); err != nil {
				return err
			}
			m.dims = append(m.dims, dim{name, n})
		}
	}
	if p.r.IntN(4) == 0 {
		name, n := fmt.Sprintf("d%d", len(m.dims)), 1+p.r.Int64N(9)
		if _, err := p.f.DefDim(name, n); err != nil {
			return err
		}
		m.dims = append(m.dims, dim{name, n})
	}
	v := &modelVar{name: fmt.Sprintf("v%d", len(m.vars)), t: types[p.r.IntN(len(types))], record: record, recs: map[int64][]float64{}, atts: map[string]float64{}}
	if record {
		v.dims = append(v.dims, 0)
	}
	for range p.r.IntN(4) {
		if d := 1 + p.r.IntN(len(m.dims)-1); p.large == 1 || !slices.Contains(v.dims, d) {
			v.dims = append(v.dims, d)
		}
	}
	id, err := p.f.DefVar(v.name, v.t, v.dims)
	if err != nil {
		return err
	}
	v.fill = defaultFill(v.t)
	if p.r.IntN(3) == 0 {
		v.fill = 99
		if err := p.f.DefVarFill(id, false, typed(v.t, []float64{99})); err != nil {
			return err
		}
	}
	m.vars = append(m.vars, v)
	p.say("define %s %v %v fill %v", v.name, v.t, v.dims, v.fill)
	return nil
}

// typed converts numbers to memory of a type.
func typed(t cdf5.Type, x []float64) any {
	if t == cdf5.Char {
		b := make(Text, len(x))
		for i := range x {
			b[i] = byte(x[i])
		}
		return b
	}
	out := cdf5.NewSlice(t, len(x))
	must(cdf5.ToFile(bytesOf(out), elem.HostBig, t, x))
	return out
}

// floats is the reverse of typed.
func floats(x any) []float64 {
	if b, ok := x.(Text); ok {
		out := make([]float64, len(b))
		for i := range b {
			out[i] = float64(b[i])
		}
		return out
	}
	n, t, _ := cdf5.SliceLen(x)
	out := make([]float64, n)
	must(cdf5.FromFile(out, bytesOf(x), elem.HostBig, t))
	return out
}

// memoryType draws a memory type for a variable.
func (p *player) memoryType(v *modelVar) cdf5.Type {
	if v.t == cdf5.Char || p.r.IntN(2) == 0 {
		return v.t
	}
	return cdf5.Double
}

// maps draws the maps of all ranks. They have holes in memory and elements without an owner; with twice, some elements have
// several owners.
func (p *player) maps(elems int64, ranks int, twice bool) [][]int64 {
	list := make([][]int64, ranks)
	order := p.r.Perm(int(elems))
	how, gaps := p.r.IntN(4), p.r.IntN(3) == 0
	if how < 2 {
		slices.Sort(order)
	}
	for i, e := range order {
		o := i % ranks
		if how == 1 || how == 2 {
			o = i * ranks / len(order)
		}
		if gaps && p.r.IntN(4) == 0 {
			continue
		}
		list[o] = append(list[o], int64(e)+1)
		if p.r.IntN(8) == 0 && gaps {
			list[o] = append(list[o], 0)
		}
		if twice && p.r.IntN(8) == 0 {
			q := p.r.IntN(ranks)
			list[q] = append(list[q], int64(e)+1)
		}
	}
	return list
}

func (p *player) pick() (int, *modelVar) {
	v := p.r.IntN(len(p.m.vars))
	return v, p.m.vars[v]
}

// frame draws the argument of SetFrame and the dimensions of the decomposition.
func (p *player) frame(v *modelVar, records int64) (frame int64, dims []int64, off int64) {
	dims = p.m.shape(v)
	if v.record {
		frame = p.r.Int64N(records)
	} else if len(dims) > 1 && len(stripped(dims)) == len(dims) && p.r.IntN(2) == 0 {
		frame = p.r.Int64N(dims[0])
		dims = dims[1:]
		off = frame * product(dims)
	}
	switch p.r.IntN(4) { // dimensions of length 1 are ignored
	case 0:
		dims = append([]int64{1}, dims...)
	case 1:
		dims = append(stripped(dims), 1)
	case 2:
		dims = stripped(dims)
	}
	if len(dims) == 0 {
		dims = []int64{1}
	}
	return frame, dims, off
}

func (p *player) writeDarray() error {
	id, v := p.pick()
	records := p.m.records + 2
	if p.r.IntN(2) == 0 {
		records = max(p.m.records, 1)
	}
	frame, dims, off := p.frame(v, records)
	t, list := p.memoryType(v), p.maps(product(dims), p.s.c.Size(), p.r.IntN(8) == 0)
	base := p.r.Int64N(50)
	fill, used := any(nil), v.fill
	if p.r.IntN(4) == 0 {
		used = 77
		fill = typed(t, []float64{77})
	}
	p.say("darray %s frame %d by %v of %v, fill %v", v.name, frame, t, list, fill)
	d, err := p.s.InitDecomp(p.ctx, t, dims, list[p.s.c.Rank()], false)
	if err != nil {
		return err
	}
	rec := frame
	if !v.record {
		rec = 0
	}
	to := p.m.of(v, rec)[off : off+product(dims)]
	for i := range to {
		to[i] = used
	}
	value := func(rank int, e int64) float64 { return float64((base + e + 3*int64(rank)) % 97) }
	for rank, l := range list {
		for _, e := range l {
			if e > 0 {
				to[e-1] = value(rank, e)
			}
		}
	}
	var mine []float64
	for _, e := range d.Map() {
		mine = append(mine, value(p.s.c.Rank(), e))
	}
	if frame > 0 || p.r.IntN(2) == 0 {
		if err := p.f.SetFrame(id, frame); err != nil {
			return err
		}
	} else if g := p.f.vars[id].frame; g > 0 {
		if err := p.f.SetFrame(id, 0); err != nil {
			return err
		}
	}
	data := typed(t, append(mine, 5))
	defer spoil(data, fill)
	return p.f.WriteDarray(p.ctx, id, d, data, fill)
}

// spoil overwrites memory that a finished call has used.
func spoil(memory ...any) {
	for _, m := range memory {
		if b, ok := m.(Text); ok {
			m = []byte(b)
		}
		if b, ok := cdf5.Bytes(m); ok {
			for i := range b {
				b[i] = 0x55
			}
		}
	}
}

// part draws a part of a variable, and the elements that it covers in each record, in order.
func (p *player) part(v *modelVar, records int64) (start, count, stride []int64, recs []int64, elems []int64) {
	full := p.m.shape(v)
	if v.record {
		full = append([]int64{records}, full...)
	}
	for _, n := range full {
		s := 1 + p.r.Int64N(2)
		first := p.r.Int64N(n)
		c := 1 + p.r.Int64N((n-first-1)/s+1)
		start, count, stride = append(start, first), append(count, c), append(stride, s)
	}
	recs, elems = []int64{0}, []int64{0}
	for i := range full {
		var next []int64
		if v.record && i == 0 {
			recs = recs[:0]
			for k := range count[0] {
				recs = append(recs, start[0]+k*stride[0])
			}
			continue
		}
		for _, e := range elems {
			for k := range count[i] {
				next = append(next, e*full[i]+start[i]+k*stride[i])
			}
		}
		elems = next
	}
	return start, count, stride, recs, elems
}

// reversed returns an imap for memory with the dimensions in reverse order, and the resulting offsets of elements.
func reversed(count []int64) (imap []int64, place []int64) {
	imap = make([]int64, len(count))
	d := int64(1)
	for i := range count {
		imap[i] = d
		d *= count[i]
	}
	g := &region{count: count, imap: imap}
	g.walk(func(_, from int64) { place = append(place, from) })
	return imap, place
}

func (p *player) putVars() error {
	id, v := p.pick()
	start, count, stride, recs, elems := p.part(v, p.m.records+1)
	t, base := p.memoryType(v), p.r.Int64N(50)
	data := make([]float64, len(recs)*len(elems))
	var imap, place []int64
	if p.r.IntN(3) == 0 {
		imap, place = reversed(count)
	}
	for i, rec := range recs {
		to := p.m.of(v, rec)
		for k, e := range elems {
			x := float64((base + int64(i+k)) % 97)
			to[e] = x
			if at := i*len(elems) + k; imap == nil {
				data[at] = x
			} else {
				data[place[at]] = x
			}
		}
	}
	p.say("put %s %v %v %v by %v imap %v", v.name, start, count, stride, t, imap)
	mem := typed(t, data)
	defer spoil(mem)
	return p.f.PutVars(p.ctx, id, Part{start, count, stride, imap}, mem)
}

func (p *player) getVars() error {
	id, v := p.pick()
	if v.record && p.m.records == 0 {
		return nil
	}
	start, count, stride, recs, elems := p.part(v, p.m.records)
	t := v.t
	into := typed(t, make([]float64, len(recs)*len(elems)))
	var imap, place []int64
	if p.r.IntN(3) == 0 {
		imap, place = reversed(count)
	}
	p.say("get %s %v %v %v imap %v", v.name, start, count, stride, imap)
	if err := p.f.GetVars(p.ctx, id, Part{start, count, stride, imap}, into); err != nil {
		return err
	}
	got := floats(into)
	for i, rec := range recs {
		have := p.m.read(v, rec)
		for k, e := range elems {
			at := int64(i*len(elems) + k)
			if imap != nil {
				at = place[at]
			}
			if got[at] != have[e] {
				return fmt.Errorf("rank %d: get of %s record %d element %d: %v, want %v", p.s.c.Rank(), v.name, rec, e, got[at], have[e])
			}
		}
	}
	return nil
}

// read returns a record without creating it.
func (m *model) read(v *modelVar, rec int64) []float64 {
	if a := v.recs[rec]; a != nil {
		return a
	}
	return slices.Repeat([]float64{v.fill}, int(product(m.shape(v))))
}

func (p *player) readDarray() error {
	id, v := p.pick()
	if v.record && p.m.records == 0 {
		return nil
	}
	frame, dims, off := p.frame(v, p.m.records)
	t, list := v.t, p.maps(product(dims), p.s.c.Size(), true)
	p.say("read %s frame %d by %v", v.name, frame, list)
	d, err := p.s.InitDecomp(p.ctx, t, dims, list[p.s.c.Rank()], true)
	if err != nil {
		return err
	}
	rec := frame
	if !v.record {
		rec = 0
	}
	if err := p.f.SetFrame(id, frame); err != nil {
		return err
	}
	into := typed(t, slices.Repeat([]float64{111}, int(d.Len())+1))
	if err := p.f.ReadDarray(p.ctx, id, d, into); err != nil {
		return err
	}
	want, got := p.m.read(v, rec)[off:], floats(into)
	for i, e := range append(slices.Clone(d.Map()), 0) {
		x := 111.
		if e > 0 {
			x = want[e-1]
		}
		if got[i] != x {
			return fmt.Errorf("rank %d: read of %s frame %d element %d: %v, want %v", p.s.c.Rank(), v.name, frame, e-1, got[i], x)
		}
	}
	return nil
}

func (p *player) attribute() error {
	x, v, list := p.r.Float64(), p.r.IntN(len(p.m.vars)+1)-1, p.m.atts
	if v >= 0 {
		list = p.m.vars[v].atts
	}
	name := fmt.Sprintf("a%d", p.r.IntN(3))
	if _, there := list[name]; there && p.r.IntN(3) == 0 {
		delete(list, name)
		p.say("delete attribute %s of %d", name, v)
		return p.f.DeleteAtt(v, name)
	}
	list[name] = x
	p.say("attribute %s of %d", name, v)
	return p.f.PutAtt(v, name, cdf5.Double, []float64{x})
}

func (p *player) rename() error {
	id, v := p.pick()
	v.name = fmt.Sprintf("%s_%d", v.name, p.r.IntN(10))
	p.say("rename variable %d to %s", id, v.name)
	return p.f.RenameVar(id, v.name)
}

// step makes one random call.
func (p *player) step() error {
	switch n := p.r.IntN(40); {
	case n < 14:
		return p.writeDarray()
	case n < 20:
		return p.putVars()
	case n < 25:
		return p.readDarray()
	case n < 29:
		return p.getVars()
	case n < 33:
		p.say("sync")
		return p.f.Sync(p.ctx)
	case n < 36:
		return p.attribute()
	case n < 37:
		return p.rename()
	case n < 38:
		return p.define(false)
	}
	return p.define(true)
}

// look compares the whole file with the model.
func (p *player) look() error {
	m, f := p.m, p.f
	dims, vars, atts, _, err := f.Counts()
	if err != nil || dims != len(m.dims) || vars != len(m.vars) || atts != len(m.atts) {
		return fmt.Errorf("%d dimensions, %d variables, %d attributes, want %d, %d, %d (%v)", dims, vars, atts, len(m.dims), len(m.vars), len(m.atts), err)
	}
	for i, d := range m.dims {
		n := d.n
		if n == Unlimited {
			n = m.records
		}
		if name, have, err := f.Dim(i); err != nil || name != d.name || have != n {
			return fmt.Errorf("dimension %s of %d, want %s of %d (%v)", name, have, d.name, n, err)
		}
	}
	check := func(v int, list map[string]float64) error {
		for name, x := range list {
			got := make([]float64, 1)
			if err := f.GetAtt(v, name, got); err != nil || got[0] != x {
				return fmt.Errorf("attribute %s of %d: %v, want %v (%v)", name, v, got, x, err)
			}
		}
		return nil
	}
	if err := check(Global, m.atts); err != nil {
		return err
	}
	for i, v := range m.vars {
		have, err := f.Var(i)
		if err != nil || have.Name != v.name || have.Type != v.t || !slices.Equal(have.Dims, v.dims) && len(v.dims) > 0 {
			return fmt.Errorf("variable %+v, want %+v (%v)", have, v, err)
		}
		if err := check(i, v.atts); err != nil {
			return err
		}
		n := product(m.shape(v))
		recs := int64(1)
		if v.record {
			recs = m.records
		}
		into := typed(v.t, make([]float64, n*recs))
		if err := f.GetVars(p.ctx, i, Part{}, into); err != nil {
			return err
		}
		got := floats(into)
		for rec := range recs {
			if want := m.read(v, rec); !slices.Equal(got[rec*n:(rec+1)*n], want) {
				return fmt.Errorf("%s record %d: %v, want %v", v.name, rec, got[rec*n:(rec+1)*n], want)
			}
		}
	}
	return nil
}
