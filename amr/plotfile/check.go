package plotfile

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"

	"blobio/internal/amr/boxes"
	"blobio/internal/elem"
	"blobio/internal/fault"
	"blobio/internal/par"
)

// CheckOptions of Check. The zero value, or nil, means the defaults.
type CheckOptions struct {
	Quick    bool                    // headers and sizes only: do not read the data
	Workers  int                     // goroutines. Default the number of CPUs
	Progress func(done, total int64) // in bytes; called by several goroutines
}

// Check looks for everything that is wrong with a plotfile: headers against each other and against the data, sizes and places of FABs, boxes that overlap,
// that lie beside the coarser level or divide its cells, extrema in Cell_H against the data, checksums where there are any, NaN and infinities, and
// particles.
func Check(ctx context.Context, dir string, o *CheckOptions) iter.Seq[Finding] {
	if o == nil {
		o = &CheckOptions{}
	}
	return fault.Collect(ctx, o.Progress, func(c *fault.Collector) {
		k := &checker{c: c, o: o, odd: map[int]*oddity{}}
		p, err := open(ctx, dir)
		if err != nil {
			k.err("", err)
			return
		}
		defer p.Close()
		k.p = p
		if err := p.readHeader(); err != nil {
			k.err(HeaderName, err)
			return
		}
		whole := true
		for l := range p.Levels {
			if err := p.readLevel(l); err != nil {
				k.err("", err)
				whole = false
			}
		}
		if err := p.readKinds(); err != nil {
			k.err("", err)
			whole = false
		}
		if !whole {
			return
		}
		if p.verify = p.manifest != nil; p.verify {
			if k.err("", p.holdManifest()); p.holdManifest() != nil {
				return
			}
			k.heads()
			if p.manifest.Unverified {
				c.Add(Finding{Severity: fault.Warning, File: ManifestName, Offset: -1, Field: "unverified", Msg: "made from unverified data, which may be damaged: the checksums are those of what was read"})
			}
		}
		k.geometry()
		k.boxes()
		k.data()
		k.particles()
	})
}

type checker struct {
	p   *Plotfile
	c   *fault.Collector
	o   *CheckOptions
	mu  sync.Mutex
	odd map[int]*oddity // by field
}

// oddity counts values that are no numbers, of a field.
type oddity struct {
	nan, inf    int64
	level, grid int // the first that has some
}

func (k *checker) count(level, grid, field int, nan, inf int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := k.odd[field]
	if o == nil {
		o = &oddity{level: level, grid: grid}
		k.odd[field] = o
	}
	o.nan += nan
	o.inf += inf
	if level < o.level || level == o.level && grid < o.grid {
		o.level, o.grid = level, grid
	}
}

// numbers tells of the fields that have values which are no numbers.
func (k *checker) numbers() {
	for _, f := range slices.Sorted(maps.Keys(k.odd)) {
		o := k.odd[f]
		k.c.Add(Finding{Severity: fault.Warning, File: k.p.data(o.level, o.grid), Offset: k.p.Levels[o.level].Grids[o.grid].Offset, Field: "field " + k.p.Fields[f],
			Msg: fmt.Sprintf("%d cells are NaN, %d infinite; the first grid is %d of level %d", o.nan, o.inf, o.grid, o.level)})
	}
}

// newIndex finds grids by their cells.
func newIndex(grids []Grid) *boxes.Index {
	list := make([]Box, len(grids))
	for i := range grids {
		list[i] = grids[i].Box
	}
	return boxes.NewIndex(list)
}

// err adds an error, if it is one.
func (k *checker) err(file string, err error) {
	if err != nil {
		k.c.Add(fault.Of(fault.Error, file, err))
	}
}

func (k *checker) found(sev fault.Severity, file, field string, class error, format string, args ...any) {
	k.c.Add(fault.Of(sev, file, pkg.At(file, -1, field, class, format, args...)))
}

// heads compares the text files with their checksums.
func (k *checker) heads() {
	for _, name := range slices.Sorted(maps.Keys(k.p.manifest.Heads)) {
		if !localName(name) {
			k.found(fault.Error, ManifestName, "heads", ErrCorrupt, "%s, want a name below the directory", clip(name))
			continue
		}
		b, err := k.p.files.text(name)
		if err == nil {
			err = k.p.manifest.compare(name, b)
		}
		k.err(name, err)
	}
}

// geometry holds sizes of cells and places of grids in Header against domains and boxes.
func (k *checker) geometry() {
	p := k.p
	const near = 1e-6 // of a cell
	for l := range p.Levels {
		x := &p.Levels[l]
		n := x.Domain.Len()
		for a := range p.Rank {
			if all, want := x.Width[a]*float64(n[a]), p.Upper[a]-p.Lower[a]; math.Abs(all-want) > near*want {
				k.found(fault.Error, HeaderName, fmt.Sprintf("cell size of level %d", l), ErrCorrupt, "%v on axis %d, want %v, which is %v over %d cells", x.Width[a], a, want/float64(n[a]), want, n[a])
			}
		}
		if d := math.Abs(x.Time - p.Time); d > 1e-9*math.Abs(p.Time) {
			k.found(fault.Warning, HeaderName, fmt.Sprintf("time of level %d", l), nil, "%v, that of the whole is %v", x.Time, p.Time)
		}
		for i := range x.Grids {
			lo, hi := p.edges(l, x.Grids[i].Box)
			for a := range p.Rank {
				if b := x.Bounds[i]; math.Abs(b[0][a]-lo[a]) > near*x.Width[a] || math.Abs(b[1][a]-hi[a]) > near*x.Width[a] {
					k.found(fault.Error, HeaderName, fmt.Sprintf("grids of level %d", l), ErrCorrupt, "grid %d: from %v to %v on axis %d, its box in %s says %v to %v", i, b[0][a], b[1][a], a, x.cells.file, lo[a], hi[a])
					break
				}
			}
		}
	}
}

// boxes looks for grids that overlap, that divide coarser cells, and that have no coarser cells below them.
func (k *checker) boxes() {
	p := k.p
	for l := range p.Levels {
		x := &p.Levels[l]
		field := func(i int) string { return fmt.Sprintf("grid %d", i) }
		s := newIndex(x.Grids)
		for i := range x.Grids {
			g := x.Grids[i].Box
			s.Each(g, func(j int, part Box) bool {
				if j > i {
					k.found(fault.Error, x.cells.file, field(i), ErrCorrupt, "has %d cells in common with grid %d", part.Cells(), j)
				}
				return true
			})
		}
		if l == 0 {
			sum := int64(0)
			for i := range x.Grids {
				sum += x.Grids[i].Cells()
			}
			if n := x.Domain.Cells(); sum != n {
				k.found(fault.Error, x.cells.file, "grids", ErrCorrupt, "%d cells, want the %d of the domain", sum, n)
			}
			continue
		}
		coarse := newIndex(p.Levels[l-1].Grids)
		r := p.Levels[l-1].Ratio
		for i := range x.Grids {
			g, below := x.Grids[i].Box, int64(0)
			down, whole := g.Coarsen(r)
			if !whole {
				k.found(fault.Error, x.cells.file, field(i), ErrCorrupt, "%s divides cells of level %d, of which each has %v", boxText(g, p.Rank), l-1, r[:p.Rank])
				continue
			}
			coarse.Each(down, func(_ int, part Box) bool { below += part.Cells(); return true })
			if n := down.Cells(); below < n {
				k.found(fault.Warning, x.cells.file, field(i), nil, "%d of the %d cells of level %d below it are not there", n-below, n, l-1)
			}
		}
	}
}

// data reads the FABs, file by file in the order in which they lie there.
func (k *checker) data() {
	p := k.p
	type item struct{ level, grid int }
	byFile := map[string][]item{}
	var names []string
	for l := range p.Levels {
		for i := range p.Levels[l].Grids {
			name := p.data(l, i)
			if byFile[name] == nil {
				names = append(names, name)
			}
			byFile[name] = append(byFile[name], item{l, i})
		}
	}
	type one struct {
		name  string
		items []item
		from  int64 // where what is before ends
		last  bool
	}
	offset := func(x item) int64 { return p.Levels[x.level].Grids[x.grid].Offset }
	const some = 16 // FABs at a time
	var work []one
	for _, name := range names {
		l := byFile[name]
		slices.SortStableFunc(l, func(a, b item) int { return cmp.Compare(offset(a), offset(b)) })
		if info, err := p.root.Stat(p.files.path(name)); err != nil {
			k.err(name, p.files.fault(name, err))
			continue
		} else if !k.o.Quick {
			k.c.Expect(info.Size())
		}
		for i := 0; i < len(l); i += some {
			work = append(work, one{name, l[i:min(i+some, len(l))], 0, i+some >= len(l)})
		}
	}
	k.c.Each(len(work), par.Workers(k.o.Workers), func(i int, add func(Finding) bool) {
		w := &work[i]
		for j, x := range w.items {
			if k.c.Context().Err() != nil {
				return
			}
			bad := func(err error) bool { return add(fault.Of(fault.Error, w.name, err)) }
			h, err := p.fab(x.level, x.grid)
			if err != nil {
				if !bad(err) {
					return
				}
				continue
			}
			g := &p.Levels[x.level].Grids[x.grid]
			end := g.Offset + h.len + h.box.Cells()*int64(h.fields)*int64(h.typ.Size())
			if next := (*item)(nil); j+1 < len(w.items) || !w.last {
				if j+1 < len(w.items) {
					next = &w.items[j+1]
				} else {
					next = &work[i+1].items[0]
				}
				switch to := offset(*next); {
				case to < end:
					bad(pkg.At(w.name, to, "FAB", ErrCorrupt, "grid %d of level %d begins here, want %d or more, where that of grid %d ends", next.grid, next.level, end, x.grid))
				case to > end:
					add(Finding{Severity: fault.Warning, File: w.name, Offset: end, Field: "FAB", Msg: fmt.Sprintf("%d bytes between grids %d and %d are nobody's", to-end, x.grid, next.grid)})
				}
			} else if f, err := p.files.get(w.name); err == nil {
				if p.files.put(f); f.size > end {
					add(Finding{Severity: fault.Warning, File: w.name, Offset: end, Field: "FAB", Msg: fmt.Sprintf("%d bytes behind the last grid are nobody's", f.size-end)})
				} else if f.size < end && k.o.Quick {
					bad(pkg.At(w.name, g.Offset, "FAB", ErrTruncated, "%d bytes to the end of the file, want %d", f.size-g.Offset, end-g.Offset))
				}
			}
			if k.o.Quick {
				continue
			}
			if !k.grid(x.level, x.grid, h, add) {
				return
			}
			k.c.Did(end - g.Offset)
		}
	})
	if !k.o.Quick {
		k.numbers()
	}
}

// grid looks at the data of a grid.
func (k *checker) grid(level, grid int, h *fabHeader, add func(Finding) bool) bool {
	p := k.p
	x := &p.Levels[level]
	g := &x.Grids[grid]
	name := p.data(level, grid)
	if p.verify && h.len > 0 {
		if b, err := p.files.read(name, g.Offset, h.len, "FAB"); err == nil {
			if want, ok := p.manifest.sum(level, grid, -1, h.fields); ok && crc32.ChecksumIEEE(b) != want {
				add(fault.Of(fault.Error, name, pkg.At(name, g.Offset, "FAB", ErrChecksum, "the header sums to %08x, the manifest says %08x", crc32.ChecksumIEEE(b), want)))
			}
		}
	}
	cells := h.box.Cells() * int64(h.typ.Size())
	step := int(max(min(int64(h.fields), (4<<20)/max(cells, 1)), 1)) // fields at a time
	for first := 0; first < h.fields; first += step {
		last := min(first+step, h.fields)
		all, err := p.bytes(level, grid, h, first, last)
		if err != nil {
			return add(fault.Of(fault.Error, name, err))
		}
		for f := first; f < last; f++ {
			b := all[int64(f-first)*cells : int64(f-first+1)*cells]
			if want, ok := uint32(0), false; p.verify {
				if want, ok = p.manifest.sum(level, grid, f, h.fields); ok {
					if got := crc32.ChecksumIEEE(b); got != want && !add(fault.Of(fault.Error, name, pkg.At(name, g.Offset, "field "+p.Fields[f], ErrChecksum, "grid %d of level %d: data sum to %08x, the manifest says %08x", grid, level, got, want))) {
						return false
					}
				}
			}
			elem.Reorder(b, b, h.typ.Size(), h.big)
			if !k.field(level, grid, f, floats(h.typ, inner(b, h.typ.Size(), h.box, g.Box)), add) {
				return false
			}
		}
	}
	return true
}

// field looks at the values of a field of a grid.
func (k *checker) field(level, grid, field int, values []float64, add func(Finding) bool) bool {
	p := k.p
	x := &p.Levels[level]
	lo, hi := math.Inf(1), math.Inf(-1)
	nan, inf := int64(0), int64(0)
	for _, v := range values {
		if v-v != 0 {
			if v != v {
				nan++
				continue
			}
			inf++
		}
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	if nan+inf > 0 {
		k.count(level, grid, field, nan, inf)
	}
	if x.cells.min == nil || x.cells.max == nil || nan > 0 || len(values) == 0 { // what the writer made of NaN is not known
		return true
	}
	for _, e := range []struct {
		name      string
		got, want float64
	}{{"minimum", lo, x.cells.min[grid][field]}, {"maximum", hi, x.cells.max[grid][field]}} {
		if e.got != e.want && !add(fault.Of(fault.Error, p.data(level, grid), pkg.At(p.data(level, grid), x.Grids[grid].Offset, "field "+p.Fields[field],
			ErrCorrupt, "grid %d of level %d: the %s of the data is %v, %s says %v", grid, level, e.name, e.got, x.cells.file, e.want))) {
			return false
		}
	}
	return true
}

// particles reads the particles and looks at their places.
func (k *checker) particles() {
	p := k.p
	for n := range p.Kinds {
		kind := &p.Kinds[n]
		k.c.Each(len(kind.parts), par.Workers(k.o.Workers), func(i int, add func(Finding) bool) {
			x := &kind.parts[i]
			if x.count == 0 {
				return
			}
			name := kind.partFile(x)
			if k.o.Quick {
				b := int64(4*len(kind.Ints) + kind.Type.Size()*(p.Rank+len(kind.Reals)))
				if kind.IDs {
					b += 8
				}
				f, err := p.files.get(name)
				if err == nil {
					if p.files.put(f); x.offset > f.size || x.count > (f.size-x.offset)/b {
						err = pkg.At(name, x.offset, "particles "+kind.Name, ErrTruncated, "grid %d of level %d: %d bytes to the end of the file, want %d particles of %d", x.grid, x.level, max(f.size-x.offset, 0), x.count, b)
					}
				}
				if err != nil {
					add(fault.Of(fault.Error, name, err))
				}
				return
			}
			columns, err := p.Particles(k.c.Context(), n, i)
			if err != nil {
				add(fault.Of(fault.Error, name, err))
				return
			}
			outside := 0
			for j := range int(x.count) {
				for a := range p.Rank {
					if v := floats(kind.Type, columns[a][j*kind.Type.Size():(j+1)*kind.Type.Size()])[0]; !(v >= p.Lower[a] && v <= p.Upper[a]) {
						outside++
						break
					}
				}
			}
			if outside > 0 {
				add(Finding{Severity: fault.Warning, File: name, Offset: x.offset, Field: "particles " + kind.Name, Msg: fmt.Sprintf("grid %d of level %d: %d of %d particles are outside of the domain", x.grid, x.level, outside, x.count)})
			}
		})
	}
}
