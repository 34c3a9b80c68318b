package netcdf

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"blobio/cdf5"
	"blobio/internal/amr"
	"blobio/internal/base/fault"
)

// version is the version of the netCDF form. The file stores it in the global attribute blobio_amr.
const version = 1

// layout lists the variables of the file, and describes which data of a block each variable has.
type layout struct {
	meta  *amr.Meta
	dims  []cdf5.Dim
	atts  []cdf5.Att
	vars  []variable
	lists []list
}

// list is a table in which a block can have any number of rows. The rows of all blocks are stored one after the other.
type list struct {
	name  string
	count func(b *amr.Block) int64 // number of rows of a block; -1 (not 0) if the block does not have the list
	total int64
}

// variable is a variable of the file.
type variable struct {
	name string
	typ  cdf5.Type
	dims []int // indexes in layout.dims; the first dimension counts rows
	atts []cdf5.Att
	list int // index of a list, or -1 if the variable has a row for each block
	of   origin
	grid *grid // the grid, for variables on the grid of a level
	// row returns the variable's data of a block, in the byte order of the host. The result may be in scratch.
	row func(scratch []byte, p *placed) ([]byte, error)
}

// origin names the data of a block from which a row is computed.
type origin struct {
	kind originKind
	i, k int // i: the number of the field in a block; or i, k: type and attribute of particles
}

type originKind uint8

const (
	ofTables    originKind = iota // data that heads keeps in memory
	ofField                       // Data of a field
	ofParticles                   // Data of an attribute of particles
	ofAdapt                       // the adapt_buffer
)

// placed is a block with its position in the file.
type placed struct {
	*amr.Block
	pos    int64   // row
	parent int64   // row of the parent, or -1
	at     []int64 // first row in each list
}

// dim adds a dimension and returns its index. CDF does not allow empty fixed dimensions, so an empty dimension gets one
// filler row.
func (l *layout) dim(name string, n int64) int {
	i := slices.IndexFunc(l.dims, func(d cdf5.Dim) bool { return d.Name == name })
	if i < 0 {
		i = len(l.dims)
		l.dims = append(l.dims, cdf5.Dim{Name: name, Len: max(n, 1)})
	}
	return i
}

// rowBytes returns the size of a row of a variable.
func (l *layout) rowBytes(v *variable) int64 {
	n := int64(v.typ.Size())
	for _, d := range v.dims[1:] {
		n *= l.dims[d].Len
	}
	return n
}

// newLayout describes a file with the blocks in list, and sets the position of each block in the file.
func newLayout(m *amr.Meta, s *summary, fields []amr.Field, list []placed, grids bool) (*layout, error) {
	l := &layout{meta: m}
	l.addLists(s)
	l.place(list)
	var err error
	if l.atts, err = metaAtts(m); err != nil {
		return nil, err
	}
	block := l.dim("block", s.Blocks)
	l.addTables(block, s)
	for i := range fields {
		l.addField(block, i, &fields[i])
	}
	l.addParticles()
	if s.Adapt {
		l.addBytes("adapt", l.listIndex("adapt"), func(b *amr.Block) []byte { return trimmed(b.Adapt) },
			att("long_name", "what a program knows of neighbours (adapt_buffer of Cello), without the zeros at its end"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attrs)) {
		l.addAttr(block, name, s.Attrs[name], s.Blocks)
	}
	if grids {
		l.addGrids(fields, list)
	}
	seen := map[string]bool{}
	for i := range l.vars {
		v := &l.vars[i]
		if seen[v.name] {
			return nil, fault.Usage("two variables would have the name %q", v.name)
		}
		seen[v.name] = true
		elems := float64(1)
		for _, d := range v.dims {
			elems *= float64(l.dims[d].Len)
		}
		if elems*float64(v.typ.Size()) > math.MaxInt64/2 {
			return nil, fault.Usage("variable %q has %g elements, too many for the file", v.name, elems)
		}
	}
	return l, nil
}

func (l *layout) listIndex(name string) int {
	return slices.IndexFunc(l.lists, func(x list) bool { return x.name == name })
}

// trimmed removes trailing zeros.
func trimmed(b []byte) []byte {
	n := len(b)
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return b[:n]
}

// addLists adds a list for each kind of data of varying length, in a fixed order.
func (l *layout) addLists(s *summary) {
	for i := range l.meta.Particles {
		name := l.meta.Particles[i].Name
		l.lists = append(l.lists, list{name: "particle_" + name, count: func(b *amr.Block) int64 {
			for i := range b.Particles {
				if b.Particles[i].Spec.Name == name {
					return int64(b.Particles[i].N)
				}
			}
			return 0
		}})
	}
	if s.Adapt {
		l.lists = append(l.lists, list{name: "adapt", count: func(b *amr.Block) int64 {
			if b.Adapt == nil {
				return -1
			}
			return int64(len(trimmed(b.Adapt)))
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attrs)) {
		if s.Attrs[name].fixed(s.Blocks) {
			continue
		}
		l.lists = append(l.lists, list{name: "attr_" + name, count: func(b *amr.Block) int64 {
			v, ok := b.Attrs[name]
			if !ok {
				return -1
			}
			x, _, _, _ := toSlice(v)
			n, _, _ := cdf5.SliceLen(x)
			return int64(n)
		}})
	}
}

// place sets for every block the row of its parent and its first row in each list. It also counts the rows of each list.
func (l *layout) place(list []placed) {
	row := make(map[amr.Index]int64, len(list))
	for i := range list {
		row[list[i].Index] = int64(i)
	}
	for i := range list {
		p := &list[i]
		var ok bool
		if p.parent, ok = row[p.Index.Parent()]; !ok {
			p.parent = -1
		}
		p.pos, p.at = int64(i), make([]int64, len(l.lists))
		for k := range l.lists {
			x := &l.lists[k]
			p.at[k] = x.total
			x.total += max(x.count(p.Block), 0)
		}
	}
}

// rows returns the rows of a block in a variable: the first one and their number.
func (p *placed) rows(l *layout, v *variable) (first, n int64) {
	if v.list < 0 {
		return p.pos, 1
	}
	return p.at[v.list], max(l.lists[v.list].count(p.Block), 0)
}

// rowOf returns a variable's data of a block, after a check of their length.
func rowOf(l *layout, v *variable, scratch []byte, p *placed) ([]byte, error) {
	b, err := v.row(scratch, p)
	if err != nil {
		return nil, err
	}
	if _, n := p.rows(l, v); int64(len(b)) != n*l.rowBytes(v) {
		return nil, fault.Usage("block %s: %d bytes for variable %s, want %d", p.Index.Name(l.meta.Rank, l.meta.Roots), len(b), v.name, n*l.rowBytes(v))
	}
	return b, nil
}

var native = binary.NativeEndian

// metaAtts returns the global attributes.
func metaAtts(m *amr.Meta) ([]cdf5.Att, error) {
	ints := func(v [3]int) []int32 { return []int32{int32(v[0]), int32(v[1]), int32(v[2])} }
	periodic := []int32{0, 0, 0}
	for a, p := range m.Periodic {
		if p {
			periodic[a] = 1
		}
	}
	atts := []cdf5.Att{
		att("blobio_amr", int32(version)),
		att("title", "blocks of an adaptive mesh"),
		att("rank", int32(m.Rank)), att("root_blocks", ints(m.Roots)), att("block_cells", ints(m.Block)), att("ghost_cells", ints(m.Ghost)),
		att("domain_lower", m.Lower[:]), att("domain_upper", m.Upper[:]), att("periodic", periodic),
		att("min_level", int32(m.MinLevel)), att("max_level", int32(m.MaxLevel)),
		att("cycle", m.Cycle), att("time", m.Time), att("dt", m.Dt), att("redshift", m.Redshift),
	}
	var types []string
	for _, p := range m.Particles {
		if strings.ContainsAny(p.Name, " \t\n") {
			return nil, fault.Usage("particles %q: the name has white space", p.Name)
		}
		types = append(types, p.Name)
	}
	atts = append(atts, att("particle_types", strings.Join(types, " ")))
	if m.Files > 0 {
		atts = append(atts, att("files", int32(m.Files)))
	}
	if m.Unverified {
		atts = append(atts, att("unverified", int32(1)))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attrs)) {
		x, t, k, ok := toSlice(m.Attrs[name])
		if !ok {
			return nil, fault.Usage("attribute %q of the tree is %T, want numbers or texts", name, m.Attrs[name])
		}
		prefix := "meta_"
		if k == isStrings {
			prefix = "metastrings_"
			x = string(x.([]byte))
		}
		atts = append(atts, cdf5.Att{Name: prefix + name, Type: t, Value: x})
	}
	return atts, nil
}

// header returns the header of the file.
func (l *layout) header() *cdf5.Header {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: l.dims, Atts: l.atts}
	for i := range l.vars {
		v := &l.vars[i]
		h.Vars = append(h.Vars, cdf5.Var{Name: v.name, Type: v.typ, Dims: v.dims, Atts: v.atts})
	}
	return h
}
