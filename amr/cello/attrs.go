package cello

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/amr"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

type attrKind uint8

const (
	kindInt32 attrKind = iota
	kindInt64
	kindFloat64
	kindEnzo // enzo_float: float64, or float32 in a build with single precision
)

// attrDef is a standard attribute: a vector of n elements. A vector of one element is not stored as a scalar dataspace, because
// Enzo-E aborts on scalars.
type attrDef struct {
	name string
	kind attrKind
	n    int
}

func (d attrDef) typ(enzo amr.Type) h5.Type {
	switch d.kind {
	case kindInt32:
		return h5.Int32
	case kindInt64:
		return h5.Int64
	case kindEnzo:
		return h5Type(enzo)
	}
	return h5.Float64
}

// rootAttrs are the attributes of "/" in the order of writing.
var rootAttrs = [...]attrDef{
	{"rank", kindInt32, 1},
	{"cycle", kindInt32, 1},
	{"time", kindFloat64, 1},
	{"dt", kindFloat64, 1},
	{"lower", kindFloat64, 3},
	{"upper", kindFloat64, 3},
	{"max_level", kindInt32, 1},
}

// Indexes in blockAttrs.
const (
	attrNumField = iota
	attrIndex
	attrLower
	attrUpper
	attrCycle
	attrTime
	attrDt
	attrArray
	attrIndexOrder
	attrCountOrder
	attrEnzoDt
	attrGridLeftEdge
	attrGridDimension
	attrGridStart
	attrGridEnd
	attrCellWidth
	attrRedshift
	attrAdapt
	numBlockAttrs
)

// blockAttrs are the attributes of a block's group in the order of writing.
var blockAttrs = [numBlockAttrs]attrDef{
	attrNumField:      {"num_field_data", kindInt32, 1},
	attrIndex:         {"index", kindInt32, 3},
	attrLower:         {"lower", kindFloat64, 3},
	attrUpper:         {"upper", kindFloat64, 3},
	attrCycle:         {"cycle", kindInt32, 1},
	attrTime:          {"time", kindFloat64, 1},
	attrDt:            {"dt", kindFloat64, 1},
	attrArray:         {"array", kindInt32, 3},
	attrIndexOrder:    {"index_order", kindInt64, 1},
	attrCountOrder:    {"count_order", kindInt64, 1},
	attrEnzoDt:        {"enzo_dt", kindEnzo, 1},
	attrGridLeftEdge:  {"enzo_GridLeftEdge", kindEnzo, 3},
	attrGridDimension: {"enzo_GridDimension", kindInt32, 3},
	attrGridStart:     {"enzo_GridStartIndex", kindInt32, 3},
	attrGridEnd:       {"enzo_GridEndIndex", kindInt32, 3},
	attrCellWidth:     {"enzo_CellWidth", kindEnzo, 3},
	attrRedshift:      {"enzo_redshift", kindEnzo, 1},
	attrAdapt:         {"adapt_buffer", kindInt32, adaptBytes / 4},
}

// standard maps the name of a block attribute to its index in blockAttrs.
var standard = func() map[string]int {
	m := map[string]int{}
	for i, d := range blockAttrs {
		m[d.name] = i
	}
	return m
}()

// place holds the data from which, together with the block itself, the block's attributes are computed.
type place struct {
	m            *amr.Meta
	enzo         amr.Type
	order, count int64
	lo, hi       [3]float64 // the block's bounds
}

func putInt32(dst []byte, v ...int) {
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(int32(x)))
	}
}

func putFloat64(dst []byte, v ...float64) {
	for i, x := range v {
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(x))
	}
}

func (p *place) putEnzo(dst []byte, v ...float64) {
	if p.enzo != amr.Float32 {
		putFloat64(dst, v...)
		return
	}
	for i, x := range v {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
	}
}

// derive computes standard attribute i from the block and its place, and writes the little-endian value. adapt_buffer is computed
// elsewhere.
func (p *place) derive(dst []byte, i int, b *amr.Block) {
	g, lo, hi := &p.m.Geometry, &p.lo, &p.hi
	ghost := g.Ghost
	switch i {
	case attrNumField:
		putInt32(dst, 1)
	case attrIndex:
		putInt32(dst, int(b.Index[0]), int(b.Index[1]), int(b.Index[2]))
	case attrLower:
		putFloat64(dst, lo[:]...)
	case attrUpper:
		putFloat64(dst, hi[:]...)
	case attrCycle:
		putInt32(dst, int(b.Cycle))
	case attrTime:
		putFloat64(dst, b.Time)
	case attrDt:
		putFloat64(dst, b.Dt)
	case attrArray:
		a := b.Index.Array()
		putInt32(dst, a[:]...)
	case attrIndexOrder:
		binary.LittleEndian.PutUint64(dst, uint64(p.order))
	case attrCountOrder:
		binary.LittleEndian.PutUint64(dst, uint64(p.count))
	case attrEnzoDt:
		p.putEnzo(dst, b.Dt)
	case attrGridLeftEdge:
		p.putEnzo(dst, lo[:]...)
	case attrGridDimension:
		putInt32(dst, g.Block[0]+2*ghost[0], g.Block[1]+2*ghost[1], g.Block[2]+2*ghost[2])
	case attrGridStart:
		putInt32(dst, ghost[:]...)
	case attrGridEnd:
		putInt32(dst, ghost[0]+g.Block[0]-1, ghost[1]+g.Block[1]-1, ghost[2]+g.Block[2]-1)
	case attrCellWidth:
		var h [3]float64
		for k := range h {
			h[k] = (hi[k] - lo[k]) / float64(g.Block[k])
		}
		p.putEnzo(dst, h[:]...)
	case attrRedshift:
		p.putEnzo(dst, p.m.Redshift)
	}
}

// extra is a non-standard attribute from Block.Attrs or Meta.Attrs.
type extra struct {
	name string
	typ  h5.Type
	n    int64
	val  any
}

// extras lists the attributes in order of their names. It returns an error for a type that h5 cannot write.
func extras(attrs map[string]any) ([]extra, error) {
	if len(attrs) == 0 {
		return nil, nil
	}
	var l []extra
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		e := extra{name: name, val: attrs[name]}
		var ok bool
		if e.typ, e.n, ok = h5.SliceType(e.val); !ok {
			v, ok := e.val.([]string)
			if !ok {
				return nil, fault.Usage("attribute %q is a %T, want a slice of numbers or strings", name, e.val)
			}
			most := 0
			for _, s := range v {
				most = max(most, len(s))
			}
			e.typ, e.n = h5.FixedString(most+1), int64(len(v))
		}
		l = append(l, e)
	}
	return l, nil
}

// putExtra writes the little-endian value of an attribute.
func putExtra(dst []byte, v any) {
	if t, b, ok := elem.Of(v); ok {
		elem.Reorder(dst, b, t.Size(), false)
		return
	}
	list, _ := v.([]string)
	w := len(dst) / max(len(list), 1)
	for i, s := range list {
		copy(dst[i*w:(i+1)*w], s)
	}
}

// ownAttrs are the standard attributes that are always computed from the block and its place. Entries of Block.Attrs with these
// names are not written.
var ownAttrs = map[string]bool{
	"index": true, "array": true, "index_order": true, "count_order": true,
	"cycle": true, "time": true, "dt": true, "adapt_buffer": true,
}

type attrShape struct {
	name string
	typ  h5.Type
	n    int64
}

// attrShapes returns the attributes of a block's group. The standard attributes come first, in order; an extra of the same name
// sets the shape of a standard attribute. The other extras follow.
func attrShapes(enzo amr.Type, l []extra) []attrShape {
	out := make([]attrShape, 0, numBlockAttrs+len(l))
	for _, d := range blockAttrs {
		out = append(out, attrShape{d.name, d.typ(enzo), int64(d.n)})
	}
	for _, e := range l {
		if i, std := standard[e.name]; std {
			if !ownAttrs[e.name] {
				out[i].typ, out[i].n = e.typ, e.n
			}
			continue
		}
		out = append(out, attrShape{e.name, e.typ, e.n})
	}
	return out
}

// signature returns a string that identifies the names and shapes of a group's attributes. It is "" if the group has only the
// standard attributes. parseSignature parses the string.
func signature(enzo amr.Type, l []extra) string {
	var b strings.Builder
	for i, s := range attrShapes(enzo, l) {
		if i < numBlockAttrs && s.typ == blockAttrs[i].typ(enzo) && s.n == int64(blockAttrs[i].n) {
			continue
		}
		fmt.Fprintf(&b, "%s\x00%d\x00%d\x00", s.name, uint64(s.typ), s.n)
	}
	return b.String()
}

func parseSignature(enzo amr.Type, sig string) []attrShape {
	var l []extra
	f := strings.Split(sig, "\x00")
	for i := 0; i+2 < len(f); i += 3 {
		typ, _ := strconv.ParseUint(f[i+1], 10, 64)
		n, _ := strconv.ParseInt(f[i+2], 10, 64)
		l = append(l, extra{name: f[i], typ: h5.Type(typ), n: n})
	}
	return attrShapes(enzo, l)
}

// h5Types maps element types to HDF5 types; Float64 is the default.
var h5Types = [...]h5.Type{h5.Float64, amr.Float32: h5.Float32, amr.Float64: h5.Float64, amr.Int8: h5.Int8, amr.Int16: h5.Int16, amr.Int32: h5.Int32, amr.Int64: h5.Int64}

func h5Type(t amr.Type) h5.Type {
	if !t.Valid() {
		t = 0
	}
	return h5Types[t]
}

// amrType returns the element type for an HDF5 type, or 0 if there is none.
func amrType(t h5.Type) amr.Type {
	return amr.Type(slices.Index(h5Types[1:], t.Little()) + 1)
}

// dims returns the shape of a dataset, slowest dimension first, in the form that Enzo-E expects. The rank is 3 if z has more than
// one element, 2 if only y has, and otherwise 1.
func dims(m [3]int) []int64 {
	switch {
	case m[2] > 1:
		return []int64{int64(m[2]), int64(m[1]), int64(m[0])}
	case m[1] > 1:
		return []int64{int64(m[1]), int64(m[0])}
	}
	return []int64{int64(m[0])}
}

// shape is the inverse of dims.
func shape(d []int64) (m [3]int64, ok bool) {
	m = [3]int64{1, 1, 1}
	if len(d) < 1 || len(d) > 3 {
		return m, false
	}
	for i := range d {
		m[i] = d[len(d)-1-i]
	}
	return m, true
}

// Names of datasets.
const (
	fieldPrefix    = "field_"
	particlePrefix = "particle_"
)

func particleName(p *amr.ParticleSpec, a *amr.AttrSpec) string {
	return particlePrefix + p.Name + "_" + a.Name
}
