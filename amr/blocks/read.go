package blocks

import (
	"context"
	"math"
	"strings"

	"blobio/amr"
	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/fault"
)

type storedField struct {
	spec   *amr.FieldSpec
	ghosts bool
	typ    cdf5.Type
	shape  []int64 // of a row
}

// stored is a list: rows of each block.
type stored struct{ count, start []int64 }

type storedAttr struct {
	name string
	v    string // variable
	typ  cdf5.Type
	kind kind
	n    int64   // elements of a block, if it is no list
	list *stored // nil: a row for each block
}

// load reads attributes and tables.
func (d *Dataset) load(ctx context.Context) error {
	if err := d.loadMeta(); err != nil {
		return err
	}
	n, err := d.dim("block")
	if err != nil {
		return err
	}
	if n > maxSlice/128 {
		return d.bad("block", "%d blocks", n)
	}
	d.infos = make([]Info, n)
	index, parent, order := make([]int32, 3*n), make([]int64, n), make([]int64, n)
	leaf, cost, cycle := make([]int8, n), make([]float64, n), make([]int32, n)
	time, dt := make([]float64, n), make([]float64, n)
	for name, dst := range map[string]any{"block_index": index, "block_parent": parent, "block_leaf": leaf, "block_cost": cost,
		"block_cycle": cycle, "block_time": time, "block_dt": dt, "block_order": order} {
		if err := d.table(ctx, name, dst); err != nil {
			return err
		}
	}
	for i := range d.infos {
		x := amr.Index{index[3*i], index[3*i+1], index[3*i+2]}
		if err := d.meta.Contains(x); err != nil {
			return d.bad("block_index", "block %d: %v", i, err)
		}
		if parent[i] < -1 || parent[i] >= n {
			return d.bad("block_parent", "block %d: row %d, want less than %d", i, parent[i], n)
		}
		d.infos[i] = Info{x, leaf[i] != 0, int(parent[i]), cost[i], cycle[i], time[i], dt[i]}
	}
	return d.loadVars(ctx, n)
}

// table reads a variable that must have as many elements as dst.
func (d *Dataset) table(ctx context.Context, name string, dst any) error {
	s := d.r.Schema()
	id, ok := s.VarID(name)
	if !ok {
		return d.bad(name, "the variable is not there")
	}
	n, t, _ := cdf5.SliceLen(dst)
	v := s.Vars()[id]
	if got := s.Elems(id); got != int64(n) || v.Record {
		return d.bad(name, "%d elements, want %d", got, n)
	}
	if v.Type != t {
		return d.bad(name, "type %v, want %v", v.Type, t)
	}
	return d.r.Read(ctx, name, nil, nil, dst)
}

func (d *Dataset) dim(name string) (int64, error) {
	for _, x := range d.r.Schema().Dims() {
		if x.Name == name && x.Len > 0 {
			return x.Len, nil
		}
	}
	return 0, d.bad("dimension "+name, "not there")
}

// loadMeta makes the description of the tree from the global attributes.
func (d *Dataset) loadMeta() error {
	atts := d.r.Schema().Attributes()
	if cdf5.FindAtt(atts, "blobio_amr") == nil {
		return &FormatError{Pkg: "blocks", File: d.r.Base(), Offset: -1, Field: "blobio_amr", Msg: "no such attribute: a dataset, but not one of AMR blocks", Err: ErrNotFormat}
	}
	var err error
	ints := func(name string, n int) []int {
		out := make([]int, n)
		a := cdf5.FindAtt(atts, name)
		if a != nil {
			if v, ok := a.Value.([]int32); ok && len(v) == n {
				for i := range v {
					out[i] = int(v[i])
				}
				return out
			}
		}
		if err == nil {
			err = d.bad(name, "not an attribute of %d ints", n)
		}
		return out
	}
	floats := func(name string, n int) []float64 {
		if a := cdf5.FindAtt(atts, name); a != nil {
			if v, ok := a.Value.([]float64); ok && len(v) == n {
				return v
			}
		}
		if err == nil {
			err = d.bad(name, "not an attribute of %d doubles", n)
		}
		return make([]float64, n)
	}
	if v := ints("blobio_amr", 1)[0]; err == nil && v != version {
		return pkg.In(d.r.Base(), "blobio_amr", fault.ErrVersion, "version %d, want %d", v, version)
	}
	m := &d.meta
	m.Rank = ints("rank", 1)[0]
	m.Roots, m.Block, m.Ghost = [3]int(ints("root_blocks", 3)), [3]int(ints("block_cells", 3)), [3]int(ints("ghost_cells", 3))
	m.Lower, m.Upper = [3]float64(floats("domain_lower", 3)), [3]float64(floats("domain_upper", 3))
	for a, v := range ints("periodic", 3) {
		m.Periodic[a] = v != 0
	}
	m.MinLevel, m.MaxLevel = ints("min_level", 1)[0], ints("max_level", 1)[0]
	m.Cycle, m.Time, m.Dt, m.Redshift = int32(ints("cycle", 1)[0]), floats("time", 1)[0], floats("dt", 1)[0], floats("redshift", 1)[0]
	if err != nil {
		return err
	}
	if err := m.Geometry.Validate(); err != nil {
		return d.bad("geometry", "%v", err)
	}
	m.Unverified = number(atts, unverifiedAtt) != 0
	if cdf5.FindAtt(atts, filesAtt) != nil {
		if m.Files = ints(filesAtt, 1)[0]; err != nil || m.Files < 1 {
			return d.bad(filesAtt, "want the number of files that the blocks were in, 1 or more")
		}
	}
	if a := cdf5.FindAtt(atts, "particle_types"); a != nil {
		text, _ := a.Value.(string)
		for _, name := range strings.Fields(text) {
			m.Particles = append(m.Particles, amr.ParticleSpec{Name: name})
		}
	}
	d.cols = make([][]string, len(m.Particles))
	for _, a := range atts {
		prefix, name, ok := strings.Cut(a.Name, "_")
		k, known := map[string]kind{"meta": isSlice, "metascalar": isScalar, "metastrings": isStrings}[prefix]
		if !ok || !known {
			continue
		}
		if m.Attrs == nil {
			m.Attrs = map[string]any{}
		}
		m.Attrs[name] = fromSlice(a.Value, a.Type, k)
	}
	return nil
}

// loadVars finds fields, particles and further attributes, and reads where their rows are.
func (d *Dataset) loadVars(ctx context.Context, n int64) error {
	s := d.r.Schema()
	for id, v := range s.Vars() {
		shape := s.Shape(blob.VarID(id))
		if v.Record || len(shape) == 0 {
			continue
		}
		var err error
		switch {
		case strings.HasPrefix(v.Name, "field_"):
			err = d.addField(&v, shape, n)
		case strings.HasPrefix(v.Name, "particle_"):
			err = d.addColumn(&v)
		case strings.HasPrefix(v.Name, "attr_"):
			err = d.addAttr(ctx, &v, shape, n)
		}
		if err != nil {
			return err
		}
	}
	for i := range d.fields { // the list has its last place now
		d.fields[i].spec = &d.meta.Fields[i]
	}
	for i := range d.meta.Particles {
		p := &d.meta.Particles[i]
		l, err := d.list(ctx, "particle_"+p.Name, n)
		if err != nil {
			return err
		}
		for _, col := range d.cols[i] {
			if err := d.holds(col, l); err != nil {
				return err
			}
		}
	}
	if _, ok := s.VarID("block_adapt_size"); ok {
		d.adapt = make([]int32, n)
		if err := d.table(ctx, "block_adapt_size", d.adapt); err != nil {
			return err
		}
		l, err := d.list(ctx, "adapt", n)
		if err != nil {
			return err
		}
		for i, size := range d.adapt {
			if size > maxAdapt || l.count[i] > int64(max(size, 0)) {
				return d.bad("block_adapt_size", "block %d: %d bytes for %d stored ones, want at most %d", i, size, l.count[i], maxAdapt)
			}
		}
		return d.holds("adapt", l)
	}
	return nil
}

// maxAdapt caps the bytes of an adapt_buffer; Cello's have 4000.
const maxAdapt = 1 << 20

func (d *Dataset) addField(v *blob.Variable, shape []int64, n int64) error {
	f := storedField{typ: v.Type, shape: shape[1:]}
	spec := amr.FieldSpec{Name: strings.TrimPrefix(v.Name, "field_"), Type: typeOf(v.Type)}
	if !spec.Type.Valid() || spec.Name == "" {
		return d.bad(v.Name, "type %v", v.Type)
	}
	if a := cdf5.FindAtt(v.Atts, "face_centered"); a != nil {
		c, _ := a.Value.([]int32)
		for i := range min(len(c), d.meta.Rank) {
			spec.Centered[i] = c[i] != 0
		}
	}
	f.ghosts = number(v.Atts, "ghosts") != 0
	spec.Scrambled = number(v.Atts, scrambledAtt) != 0
	want := d.meta.Shape(&spec, f.ghosts)
	ok := shape[0] == n && len(shape) == d.meta.Rank+1
	for a := range d.meta.Rank {
		ok = ok && shape[len(shape)-1-a] == int64(want[a])
	}
	if !ok || d.meta.FieldBytes(&spec, f.ghosts) > maxSlice {
		return d.bad(v.Name, "shape %v, want %d blocks of (x, y, z) %v", shape, n, want)
	}
	d.meta.Fields = append(d.meta.Fields, spec)
	d.fields = append(d.fields, f)
	return nil
}

// number is an attribute of one int; 0 if it is none.
func number(atts []cdf5.Att, name string) int32 {
	a := cdf5.FindAtt(atts, name)
	if a == nil {
		return 0
	}
	v, _ := a.Value.([]int32)
	if len(v) != 1 {
		return 0
	}
	return v[0]
}

func text(atts []cdf5.Att, name string) string {
	if a := cdf5.FindAtt(atts, name); a != nil {
		s, _ := a.Value.(string)
		return s
	}
	return ""
}

func (d *Dataset) addColumn(v *blob.Variable) error {
	i := particleSpec(&d.meta, text(v.Atts, "particle_type"))
	t := typeOf(v.Type)
	if i < 0 || !t.Valid() {
		return d.bad(v.Name, "of no type of particles in particle_types")
	}
	p := &d.meta.Particles[i]
	p.Attrs = append(p.Attrs, amr.AttrSpec{Name: text(v.Atts, "particle_attribute"), Type: t})
	d.cols[i] = append(d.cols[i], v.Name)
	return nil
}

func (d *Dataset) addAttr(ctx context.Context, v *blob.Variable, shape []int64, n int64) error {
	a := storedAttr{name: text(v.Atts, "attribute"), v: v.Name, typ: v.Type, kind: kind(number(v.Atts, "kind")), n: 1}
	if _, ok := d.r.Schema().VarID("block_" + v.Name + "_count"); ok {
		l, err := d.list(ctx, v.Name, n)
		if err != nil {
			return err
		}
		a.list = l
		d.attrs = append(d.attrs, a)
		return d.holds(v.Name, l)
	}
	if len(shape) > 2 || shape[0] != n {
		return d.bad(v.Name, "shape %v, want %d rows", shape, n)
	}
	if len(shape) == 2 {
		a.n = shape[1]
	}
	d.attrs = append(d.attrs, a)
	return nil
}

// list reads which rows of a flat variable each block has.
func (d *Dataset) list(ctx context.Context, name string, n int64) (*stored, error) {
	l := &stored{make([]int64, n), make([]int64, n)}
	if err := d.table(ctx, "block_"+name+"_count", l.count); err != nil {
		return nil, err
	}
	if err := d.table(ctx, "block_"+name+"_start", l.start); err != nil {
		return nil, err
	}
	end := int64(0)
	for i, c := range l.count {
		if c < -1 || c > math.MaxInt64-end || l.start[i] != end {
			return nil, d.bad("block_"+name+"_start", "block %d: %d rows from %d on, want them to start at %d", i, c, l.start[i], end)
		}
		end += max(c, 0)
	}
	d.lists[name] = l
	return l, nil
}

// holds checks that a flat variable has the rows of a list.
func (d *Dataset) holds(name string, l *stored) error {
	s := d.r.Schema()
	id, ok := s.VarID(name)
	if !ok {
		return d.bad(name, "the variable is not there")
	}
	shape := s.Shape(id)
	last := len(l.count) - 1
	if end := l.start[last] + max(l.count[last], 0); len(shape) != 1 || shape[0] != max(end, 1) {
		return d.bad(name, "shape %v, want %d rows", shape, max(end, 1))
	}
	return nil
}
