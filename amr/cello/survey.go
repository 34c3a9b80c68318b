package cello

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"blobio/internal/amr"
)

// A survey counts implausible values: NaN, infinities, negative densities and energies, particles far from their block, and
// numbers of one block that differ from the numbers of all other blocks. Without checksums, data cannot be checked in any other
// way. A survey needs the same small memory for any number of blocks. Only one goroutine at a time may use it.
type survey struct {
	m      *amr.Meta
	fields []fieldSurvey
	far    []count // by type of particles
	states []spread
}

type fieldSurvey struct {
	values             int64
	nan, inf, negative count
}

// count is the number of implausible values of a kind and the position of the first.
type count struct {
	n     int64
	first amr.Index
	at    string
}

func (c *count) add(x amr.Index, at func() string) {
	if c.n++; c.n == 1 {
		c.first, c.at = x, at()
	}
}

func (c *count) merge(o *count) {
	if c.n == 0 {
		c.first, c.at = o.first, o.at
	}
	c.n += o.n
}

// spread holds the different values that a number has in several blocks, up to maxSpread values.
type spread struct {
	name   string
	values []spreadValue
	many   bool
}

type spreadValue struct {
	bits  uint64
	n     int64
	first amr.Index
}

// maxSpread is the maximum number of different values counted separately. A number with more values is assumed to differ from
// block to block.
const maxSpread = 16

// newSurvey returns a survey of blocks of m.
func newSurvey(m *amr.Meta) *survey {
	return &survey{m: m, fields: make([]fieldSurvey, len(m.Fields)), far: make([]count, len(m.Particles))}
}

func signed(name string) bool {
	switch name {
	case "density", "internal_energy", "total_energy":
		return false
	}
	return !strings.HasSuffix(name, "_density")
}

// field examines some elements of field f of a leaf; data begins with element number first. The elements are in the byte order of
// the host. Ghost zones are skipped.
func (s *survey) field(x amr.Index, f int, ghosts bool, first int64, data []byte) {
	spec := &s.m.Fields[f]
	size := int64(spec.Type.Size())
	if !spec.Type.Float() {
		return
	}
	shape := s.m.Shape(spec, ghosts)
	var ghost [3]int64
	if ghosts {
		for i := range s.m.Rank {
			ghost[i] = int64(s.m.Ghost[i])
		}
	}
	nx, ny, nz := int64(shape[0]), int64(shape[1]), int64(shape[2])
	to := func(i int, n int64) int64 { return n - ghost[i] }
	c, free := &s.fields[f], signed(spec.Name)
	end := first + int64(len(data))/size
	for i := first; i < end; {
		row := i / nx
		y, z := row%ny, row/ny
		lo, hi := max(i, row*nx+ghost[0]), min(end, row*nx+to(0, nx))
		i = min(end, (row+1)*nx)
		if y < ghost[1] || y >= to(1, ny) || z < ghost[2] || z >= to(2, nz) || lo >= hi {
			continue
		}
		c.values += hi - lo
		look(data[(lo-first)*size:(hi-first)*size], spec.Type, free, func(k int64, v float64) {
			at := func() string {
				cell := []int64{lo + k - row*nx - ghost[0], y - ghost[1], z - ghost[2]}
				return fmt.Sprint(cell[:s.m.Rank])
			}
			switch {
			case v != v:
				c.nan.add(x, at)
			case math.IsInf(v, 0):
				c.inf.add(x, at)
			default:
				c.negative.add(x, at)
			}
		})
	}
}

// look calls strange for non-finite elements. If free is false, look also calls strange for negative elements.
func look(data []byte, t amr.Type, free bool, strange func(i int64, v float64)) {
	n := binary.NativeEndian
	if t == amr.Float32 {
		for i := int64(0); len(data) >= 4; i, data = i+1, data[4:] {
			if v := math.Float32frombits(n.Uint32(data)); v-v != 0 || !free && v < 0 {
				strange(i, float64(v))
			}
		}
		return
	}
	for i := int64(0); len(data) >= 8; i, data = i+1, data[8:] {
		if v := math.Float64frombits(n.Uint64(data)); v-v != 0 || !free && v < 0 {
			strange(i, v)
		}
	}
}

// positions examines values of attribute a of particles p of a leaf, in the byte order of the host. Floating-point attributes
// named x, y and z should be at most one block width away from the block.
func (s *survey) positions(x amr.Index, p, a int, data []byte) {
	spec := &s.m.Particles[p].Attrs[a]
	axis := strings.Index("xyz", spec.Name)
	if len(spec.Name) != 1 || axis < 0 || axis >= s.m.Rank || !spec.Type.Float() {
		return
	}
	lo, hi := x.Bounds(&s.m.Geometry)
	w := hi[axis] - lo[axis]
	size := spec.Type.Size()
	for i := range len(data) / size {
		var v float64
		if size == 4 {
			v = float64(math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:])))
		} else {
			v = math.Float64frombits(binary.NativeEndian.Uint64(data[8*i:]))
		}
		if !(v >= lo[axis]-w && v <= hi[axis]+w) {
			s.far[p].add(x, func() string {
				return fmt.Sprintf("%s = %g, the block is from %g to %g", spec.Name, v, lo[axis], hi[axis])
			})
		}
	}
}

// number records a number that should be the same for all blocks, such as the time step.
func (s *survey) number(x amr.Index, name string, v float64) {
	s.value(name, spreadValue{math.Float64bits(v), 1, x})
}

func (s *survey) value(name string, v spreadValue) {
	at := -1
	for i := range s.states {
		if s.states[i].name == name {
			at = i
		}
	}
	if at < 0 {
		at = len(s.states)
		s.states = append(s.states, spread{name: name})
	}
	p := &s.states[at]
	for i := range p.values {
		if p.values[i].bits == v.bits {
			p.values[i].n += v.n
			return
		}
	}
	if len(p.values) == maxSpread {
		p.many = true
		return
	}
	p.values = append(p.values, v)
}

// merge adds the counts and values of o, a survey of later blocks with the same Meta.
func (s *survey) merge(o *survey) {
	for i := range s.fields {
		a, b := &s.fields[i], &o.fields[i]
		a.values += b.values
		a.nan.merge(&b.nan)
		a.inf.merge(&b.inf)
		a.negative.merge(&b.negative)
	}
	for i := range s.far {
		s.far[i].merge(&o.far[i])
	}
	for i := range o.states {
		p := &o.states[i]
		for _, v := range p.values {
			s.value(p.name, v)
		}
		for k := range s.states {
			s.states[k].many = s.states[k].many || s.states[k].name == p.name && p.many
		}
	}
}

// findings returns the survey's warnings. There are at most three warnings for each field, one for each type of particles, and
// one for each rare value of a number.
func (s *survey) findings() (l []Finding) {
	add := func(x amr.Index, field, format string, args ...any) {
		l = append(l, Finding{Offset: -1, Severity: warning, Block: x.Name(s.m.Rank, s.m.Roots), Field: field, Effect: "takes them as they are", Msg: fmt.Sprintf(format, args...)})
	}
	for i := range s.fields {
		c := &s.fields[i]
		for _, k := range []struct {
			c    *count
			what string
		}{{&c.nan, "not-a-number"}, {&c.inf, "infinite"}, {&c.negative, "negative"}} {
			if k.c.n > 0 {
				add(k.c.first, fieldPrefix+s.m.Fields[i].Name, "%d of %d values in leaves are %s, the first in cell %s", k.c.n, c.values, k.what, k.c.at)
			}
		}
	}
	for i := range s.far {
		if c := &s.far[i]; c.n > 0 {
			add(c.first, s.m.Particles[i].Name, "%d particles in leaves are more than one block away from their block, the first %s", c.n, c.at)
		}
	}
	for i := range s.states {
		p := &s.states[i]
		most, all := 0, int64(0)
		for k := range p.values {
			all += p.values[k].n
			if p.values[k].n > p.values[most].n {
				most = k
			}
		}
		for k, v := range p.values {
			if k != most && !p.many && 2*p.values[most].n > all {
				add(v.first, p.name, "%v in %d of %d blocks, but %v in %d", math.Float64frombits(v.bits), v.n, all, math.Float64frombits(p.values[most].bits), p.values[most].n)
			}
		}
	}
	return l
}
