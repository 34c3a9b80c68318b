package blocks

import (
	"context"

	"blobio/amr"
	"blobio/cdf5"
	"blobio/internal/elem"
	"blobio/internal/fault"
)

// Block reads one block with all its data.
func (d *Dataset) Block(ctx context.Context, i int) (*amr.Block, error) {
	list, err := d.Range(ctx, i, i+1)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Heads reads blocks lo, lo+1, ... below hi without the data of fields and particles: their
// Data are nil, the counts of particles are there.
func (d *Dataset) Heads(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	return d.read(ctx, lo, hi, false)
}

// Range reads blocks lo, lo+1, ... below hi. Each variable is read at once, and the
// blocks share its memory. A block that is not what was written is ErrChecksum, see OpenOptions.
func (d *Dataset) Range(ctx context.Context, lo, hi int) ([]*amr.Block, error) {
	return d.read(ctx, lo, hi, true)
}

// Field reads a field of one block into dst, in the byte order of the host; len(dst) is what
// amr.Geometry.FieldBytes says. It is not compared with a checksum, since only whole blocks have
// one.
func (d *Dataset) Field(ctx context.Context, i int, name string, dst []byte) error {
	if i < 0 || i >= len(d.infos) {
		return pkg.Usage("block %d of %d", i, len(d.infos))
	}
	for k := range d.fields {
		f := &d.fields[k]
		if f.spec.Name != name {
			continue
		}
		if want := d.meta.FieldBytes(f.spec, f.ghosts); int64(len(dst)) != want {
			return pkg.Usage("%d bytes for field %q, want %d", len(dst), name, want)
		}
		x, err := d.fieldRows(ctx, f, i, i+1, elem.HostBig)
		if err != nil {
			return err
		}
		copy(dst, x)
		return nil
	}
	return pkg.Errorf("%s: field %q: %w", d.r.Base(), name, fault.ErrMissing)
}

// fieldRows reads a field of some blocks.
func (d *Dataset) fieldRows(ctx context.Context, f *storedField, lo, hi int, big bool) ([]byte, error) {
	elems := int64(hi - lo)
	start, count := []int64{int64(lo)}, []int64{int64(hi - lo)}
	for _, n := range f.shape {
		elems *= n
		start, count = append(start, 0), append(count, n)
	}
	if elems > maxSlice/int64(f.typ.Size()) {
		return nil, pkg.Errorf("%d blocks of field %q at once: %w", hi-lo, f.spec.Name, fault.ErrTooLarge)
	}
	x := bytesOf(cdf5.NewSlice(f.typ, int(elems)))
	return x, d.r.ReadBytes(ctx, "field_"+f.spec.Name, start, count, x, big)
}

// listRows reads the rows of some blocks in a list.
func (d *Dataset) listRows(ctx context.Context, name string, t cdf5.Type, l *stored, lo, hi int, big bool) (any, error) {
	first := l.start[lo]
	n := l.start[hi-1] + max(l.count[hi-1], 0) - first
	if n > maxSlice/int64(t.Size()) {
		return nil, pkg.Errorf("%d rows of %s at once: %w", n, name, fault.ErrTooLarge)
	}
	x := cdf5.NewSlice(t, int(n))
	if n == 0 {
		return x, nil
	}
	return x, d.r.ReadBytes(ctx, name, []int64{first}, []int64{n}, bytesOf(x), big)
}

// part is elements of a slice: those of one block.
func part(x any, from, n int64) any { return elem.Sub(x, int(from), int(from+n)) }

func (d *Dataset) read(ctx context.Context, lo, hi int, data bool) ([]*amr.Block, error) {
	out, rows, err := d.readRows(ctx, lo, hi, data, data && d.compares())
	if err == nil && data {
		err = d.compare(ctx, lo, hi, rows)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// rows are rows that were read, by variable.
type rows map[string]*row

type row struct {
	b    []byte
	size int  // of an element
	big  bool // high byte first, to be summed; else in the order of the host
}

// host turns rows into the order of the host.
func (r rows) host() {
	for _, x := range r {
		if x.big {
			elem.Reorder(x.b, x.b, x.size, true)
			x.big = false
		}
	}
}

// readRows is read without comparing the data; it gives the rows, too. If they are to be summed, those of fields and
// particles are big-endian: what sums makes host order of them, or rows.host.
func (d *Dataset) readRows(ctx context.Context, lo, hi int, data, summed bool) ([]*amr.Block, rows, error) {
	if lo < 0 || hi > len(d.infos) || lo >= hi {
		return nil, nil, pkg.Usage("blocks %d to %d of %d", lo, hi, len(d.infos))
	}
	out := make([]*amr.Block, hi-lo)
	for i := range out {
		x := &d.infos[lo+i]
		out[i] = &amr.Block{Index: x.Index, Leaf: x.Leaf, Cycle: x.Cycle, Time: x.Time, Dt: x.Dt, Cost: x.Cost}
	}
	if err := d.compareTables(ctx, lo, hi); err != nil {
		return nil, nil, err
	}
	r, big := rows{}, summed || elem.HostBig
	if err := d.readFields(ctx, out, lo, hi, data, big, r); err != nil {
		return nil, nil, err
	}
	if err := d.readParticles(ctx, out, lo, hi, data, big, r); err != nil {
		return nil, nil, err
	}
	if err := d.readAttrs(ctx, out, lo, hi, r); err != nil {
		return nil, nil, err
	}
	return out, r, nil
}

func (d *Dataset) readFields(ctx context.Context, out []*amr.Block, lo, hi int, data, big bool, rows rows) error {
	for k := range d.fields {
		f := &d.fields[k]
		var all []byte
		if data {
			var err error
			if all, err = d.fieldRows(ctx, f, lo, hi, big); err != nil {
				return err
			}
			rows["field_"+f.spec.Name] = &row{all, f.typ.Size(), big && !elem.HostBig}
		}
		n := len(all) / len(out)
		for i, b := range out {
			x := amr.Field{Spec: f.spec, Ghosts: f.ghosts}
			if data {
				x.Data = all[i*n : (i+1)*n : (i+1)*n]
			}
			b.Fields = append(b.Fields, x)
		}
	}
	return nil
}

func (d *Dataset) readParticles(ctx context.Context, out []*amr.Block, lo, hi int, data, big bool, rows rows) error {
	for k := range d.meta.Particles {
		spec := &d.meta.Particles[k]
		l := d.lists["particle_"+spec.Name]
		for i, b := range out {
			n := max(l.count[lo+i], 0)
			if n > maxSlice {
				return d.bad("block_particle_"+spec.Name+"_count", "%d particles", n)
			}
			p := amr.Particles{Spec: spec, N: int(n)}
			if data {
				p.Data = make([][]byte, len(spec.Attrs))
			}
			b.Particles = append(b.Particles, p)
		}
		if !data {
			continue
		}
		for c, col := range d.cols[k] {
			x, err := d.listRows(ctx, col, fileTypes[spec.Attrs[c].Type], l, lo, hi, big)
			if err != nil {
				return err
			}
			all, size := bytesOf(x), int64(spec.Attrs[c].Type.Size())
			rows[col] = &row{all, int(size), big && !elem.HostBig}
			for i, b := range out {
				from := (l.start[lo+i] - l.start[lo]) * size
				to := from + max(l.count[lo+i], 0)*size
				b.Particles[k].Data[c] = all[from:to:to]
			}
		}
	}
	return nil
}

func (d *Dataset) readAttrs(ctx context.Context, out []*amr.Block, lo, hi int, rows rows) error {
	if d.adapt != nil {
		l := d.lists["adapt"]
		x, err := d.listRows(ctx, "adapt", cdf5.UByte, l, lo, hi, elem.HostBig)
		if err != nil {
			return err
		}
		rows["adapt"] = &row{b: bytesOf(x), size: 1}
		for i, b := range out {
			if d.adapt[lo+i] >= 0 {
				b.Adapt = make([]byte, d.adapt[lo+i])
				copy(b.Adapt, part(x, l.start[lo+i]-l.start[lo], max(l.count[lo+i], 0)).([]byte))
			}
		}
	}
	for k := range d.attrs {
		a := &d.attrs[k]
		set := func(b *amr.Block, x any) {
			if b.Attrs == nil {
				b.Attrs = make(map[string]any, len(d.attrs))
			}
			b.Attrs[a.name] = fromSlice(x, a.typ, a.kind)
		}
		if a.list != nil {
			x, err := d.listRows(ctx, a.v, a.typ, a.list, lo, hi, elem.HostBig)
			if err != nil {
				return err
			}
			rows[a.v] = &row{b: bytesOf(x), size: a.typ.Size()}
			for i, b := range out {
				if n := a.list.count[lo+i]; n >= 0 {
					set(b, part(x, a.list.start[lo+i]-a.list.start[lo], n))
				}
			}
			continue
		}
		x := cdf5.NewSlice(a.typ, int(a.n)*len(out))
		start, count := []int64{int64(lo)}, []int64{int64(len(out))}
		if a.n > 1 {
			start, count = append(start, 0), append(count, a.n)
		}
		if err := d.r.Read(ctx, a.v, start, count, x); err != nil {
			return err
		}
		rows[a.v] = &row{b: bytesOf(x), size: a.typ.Size()}
		for i, b := range out {
			set(b, part(x, int64(i)*a.n, a.n))
		}
	}
	return nil
}
