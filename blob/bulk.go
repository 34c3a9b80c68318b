package blob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"blobio/decomp"
	"blobio/subfile"
)

// bulk writes a whole blob dataset from one place: all ranks of all subfiles
// are its own, so there is nobody to agree with. Convert uses it.
type bulk struct {
	opt     Options
	base    string
	schema  *Schema
	maps    []*decomp.Map // of all ranks
	ranks   int
	engines []*engine
	world   [][]int // by subfile: world rank of each sub rank
	w       Writer  // its commit helpers need a name, options and info only
}

func newBulk(base string, s *Schema, maps []*decomp.Map, ranks int, o *Options) (*bulk, error) {
	b := &bulk{opt: o.withDefaults(), base: base, schema: s, maps: maps, ranks: ranks}
	n := b.opt.Subfiles
	if n < 1 || n > ranks {
		return nil, usageErr("%d subfiles for %d ranks", n, ranks)
	}
	b.world = make([][]int, n)
	for r := range ranks {
		k := b.opt.Grouping.Of(r, ranks, n)
		b.world[k] = append(b.world[k], r)
	}
	proc := newProcess(&b.opt)
	for k := range n {
		e, err := b.engine(k, proc)
		if err != nil {
			return nil, err
		}
		b.engines = append(b.engines, e)
	}
	b.w = Writer{schema: s, base: base, opt: b.opt, info: datasetInfo{ranks: ranks, subfiles: n}}
	for d := range maps {
		sum := int64(0)
		for _, e := range b.engines {
			sum += mapPrint(e.maps[d], e.table, e.index)
		}
		b.w.info.prints = append(b.w.info.prints, fmt.Sprintf("%016x", uint64(sum)))
	}
	return b, nil
}

func (b *bulk) engine(k int, proc *process) (*engine, error) {
	nd := len(b.schema.decomps)
	sh := &subShape{ranks: b.ranks, subfiles: len(b.world), nblobs: len(b.world[k]), nelems: make([]int64, nd), maxReqs: make([]int64, nd), wide: make([]bool, nd)}
	var rows []*rankRow
	below := make([]int64, 2*nd)
	for j, r := range b.world[k] {
		row := &rankRow{sub: j, runs: make([][]decomp.Req, nd), counts: make([]int64, nd), nreqs: make([]int64, nd), below: append([]int64(nil), below...)}
		var parts []Part
		for d, m := range b.maps {
			row.runs[d] = m.AppendReqs(nil, r)
			row.counts[d], row.nreqs[d] = m.Count(r), m.NumReqs(r)
			parts = append(parts, Part{DecompID(d + 1), row.runs[d]})
			below[d] += row.counts[d]
			below[nd+d] += row.nreqs[d]
			sh.nelems[d] += row.counts[d]
			sh.maxReqs[d] = max(sh.maxReqs[d], row.nreqs[d])
		}
		if _, err := checkParts(b.schema, parts, b.opt.WideMaps); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	for d := range nd {
		sh.wide[d] = b.opt.WideMaps && product(b.schema.DecompDims(DecompID(d+1))) > 1<<31-1
	}
	e, err := newEngine(&b.opt, proc, b.schema, sh, rows)
	if err == nil {
		e.index = k
	}
	return e, err
}

// create claims the name and makes the files.
func (b *bulk) create(records int64) error {
	if err := b.w.claim(); err != nil {
		return err
	}
	rename := b.w.info.replace || b.opt.CommitMode == CommitRename || b.opt.CommitMode == CommitAuto && len(b.engines) <= maxAutoRenames
	if err := b.w.announce(); err != nil {
		return err
	}
	for k, e := range b.engines {
		e.final = subfile.Name(b.base, k)
		e.name = e.final
		if rename {
			e.name = subfile.Partial(e.final)
		}
		f, err := b.opt.fs.Create(e.name)
		if err != nil {
			return err
		}
		e.made = true
		if err := f.Close(); err != nil {
			return err
		}
		if b.opt.Layout == ProcessCentric {
			e.place.setRecords(records)
			total := int64(0)
			for i := range e.table.id {
				e.table.blob[i] = total
				total += e.place.blobSize(e.table, i)
			}
			if e.meta, err = e.place.container(total); err != nil {
				return err
			}
			for i := range e.table.blob {
				e.table.blob[i] += e.place.dataOff
			}
		}
	}
	return nil
}

// write writes whole records of variables: data returns the elements of a
// world rank in map order, in host order and the type of the file.
func (b *bulk) write(ctx context.Context, items []unit, data func(item, rank int) []byte) error {
	for k, e := range b.engines {
		lists := make([][]pend, len(e.table.id))
		for it, u := range items {
			sv := &b.schema.vars[u.v]
			for j, r := range b.world[k] {
				if sv.Decomp == 0 && j != 0 {
					continue
				}
				if raw := data(it, r); raw != nil {
					lists[j] = append(lists[j], pend{raw: raw, rec: u.rec, v: int32(u.v), mem: sv.Type})
				}
			}
		}
		if err := e.write(ctx, lists); err != nil {
			return err
		}
	}
	return nil
}

// commit completes all subfiles and the manifest.
func (b *bulk) commit(ctx context.Context, records int64) error {
	sync := b.opt.Durability == DurableCommit
	subs := make([]subfile.Subfile, len(b.engines))
	errs := make([]error, len(b.engines))
	inParallel(b.opt.Workers, len(b.engines), func(k int) {
		e := b.engines[k]
		if errs[k] = ctx.Err(); errs[k] != nil {
			return
		}
		if errs[k] = e.finish(ctx, records); errs[k] != nil {
			return
		}
		if _, errs[k] = e.sealLocal(records, true, false, b.opt.Durability != DurableNone); errs[k] != nil {
			return
		}
		sf, err := e.describe(records, nil)
		if errs[k] = err; err != nil {
			return
		}
		if b.opt.Layout == ProcessCentric {
			sf.Blobs = append(append([]int64(nil), e.table.blob...), e.place.dataOff+e.place.dataLen)
		}
		subs[k] = *sf
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := b.engines[0].proc.pool.Close(); err != nil {
		return err
	}
	m := b.w.newManifest(records, subs)
	if err := subfile.WriteNext(b.opt.fs, b.base, m, sync); err != nil {
		if derr := subfile.DropNext(b.opt.fs, b.base); derr != nil {
			b.w.committed = true
			err = errors.Join(err, derr)
		}
		return err
	}
	b.w.committed = true
	if err := subfile.Finish(b.opt.fs, b.base, m, sync); err != nil {
		return err
	}
	if b.w.info.replace {
		return subfile.RemoveStale(b.opt.fs, b.base, m)
	}
	return nil
}

// abandon removes what was made, unless it is committed.
func (b *bulk) abandon() {
	b.engines[0].proc.pool.Close()
	if b.w.committed || !b.w.claimed {
		return
	}
	for _, e := range b.engines {
		if e.made && b.opt.fs.Remove(e.name) != nil {
			return // under a final name, it needs the announcement to be known as unfinished
		}
	}
	if b.w.info.foreign || b.opt.fs.SyncDir(subfile.Dir(b.base)) != nil {
		return
	}
	_ = subfile.DropNext(b.opt.fs, b.base)
}

// toBlobs writes the output as blobs.
func (c *conversion) toBlobs(ctx context.Context) error {
	maps, ranks, err := c.assign(ctx)
	if err != nil {
		return err
	}
	if err := c.keepsAll(ctx, maps); err != nil {
		return err
	}
	b, err := newBulk(c.out, c.schema, maps, ranks, &Options{Layout: c.o.Layout, Grouping: c.o.Grouping, Subfiles: c.o.Subfiles,
		Force: c.o.Force, Workers: c.o.Workers, Durability: c.o.Durability, Records: c.records, fs: c.o.fs,
		WideMaps: c.o.WideMaps || c.r.wideMaps(),
		Buffer:   int(min(defaultBuffer, max(c.o.Memory/16, 64<<10)))})
	if err != nil {
		return err
	}
	if filepath.Clean(c.out) == filepath.Clean(c.r.base) {
		return usageErr("convert: the output %s is the source", c.out)
	}
	if err = b.create(c.records); err == nil {
		if err = c.fillBlobs(ctx, b); err == nil {
			err = b.commit(ctx, c.records)
		}
	}
	if err != nil {
		b.abandon()
	}
	return err
}

// wideMaps says whether a map of the dataset has int64 offsets.
func (r *Reader) wideMaps() bool {
	for _, p := range r.sets[0].parts {
		if pl := p.header(); pl != nil {
			return slices.Contains(pl.shape.wide, true)
		}
	}
	return false
}

// fillBlobs brings every variable from canonical order into the blobs: as many
// records of variables at a time as the memory holds twice.
func (c *conversion) fillBlobs(ctx context.Context, b *bulk) error {
	units := c.units(1 << 62)
	bytesOf := func(u unit) int64 { return (u.hi - u.lo) * int64(c.schema.vars[u.v].Type.Size()) }
	for _, u := range units {
		c.total.Add(bytesOf(u))
	}
	limit := c.o.Memory / 4
	for len(units) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, sum := 0, int64(0)
		for n < len(units) && (n == 0 || sum+bytesOf(units[n]) <= limit) {
			sum += bytesOf(units[n])
			n++
		}
		var err error
		if sum > 2*limit {
			err = c.fillLarge(ctx, b, units[0], limit)
		} else {
			err = c.fillSome(ctx, b, units[:n])
		}
		if err != nil {
			return err
		}
		c.progress(sum)
		units = units[n:]
	}
	return nil
}

func (c *conversion) fillSome(ctx context.Context, b *bulk, items []unit) error {
	data := make([][][]byte, len(items)) // by item and rank; one entry for all if it is not decomposed
	errs := make([]error, len(items))
	wins, alls := c.scratch(b, items)
	inParallel(c.o.Workers, len(items), func(k int) {
		u := items[k]
		sv := &c.schema.vars[u.v]
		size := int64(sv.Type.Size())
		win := wins[k]
		if errs[k] = c.read(ctx, u, win, hostBig); errs[k] != nil {
			return
		}
		if sv.Decomp == 0 {
			data[k] = [][]byte{win}
			return
		}
		m := b.maps[sv.Decomp-1]
		all := alls[k]
		data[k] = make([][]byte, b.ranks)
		for r := range b.ranks {
			n := m.Count(r) * size
			data[k][r] = all[:n:n]
			m.Gather(all[:n], 0, win, 0, r, int(size))
			all = all[n:]
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.write(ctx, items, func(it, rank int) []byte {
		if len(data[it]) == 1 && c.schema.vars[items[it].v].Decomp == 0 {
			return data[it][0]
		}
		return data[it][rank]
	})
}

// scratch returns room for each item in canonical order and, if it is
// decomposed, in map order. The memory is that of the call before, so that no
// garbage piles up.
func (c *conversion) scratch(b *bulk, items []unit) (wins, alls [][]byte) {
	lens := make([]int64, 0, 2*len(items))
	need := int64(0)
	for _, u := range items {
		sv := &c.schema.vars[u.v]
		size, blobs := int64(sv.Type.Size()), int64(0)
		if sv.Decomp != 0 {
			blobs = b.maps[sv.Decomp-1].Total() * size
		}
		lens = append(lens, (u.hi-u.lo)*size, blobs)
		need += (lens[len(lens)-2]+7)&^7 + (blobs+7)&^7 // elements stay aligned
	}
	if int64(cap(c.room)) < need {
		c.room = nil
		c.room = make([]byte, need)
	}
	room := c.room[:need]
	take := func(n int64) []byte {
		p := room[:n:n]
		room = room[(n+7)&^7:]
		return p
	}
	for k := range items {
		wins, alls = append(wins, take(lens[2*k])), append(alls, take(lens[2*k+1]))
	}
	return wins, alls
}

// fillLarge converts one record of a variable that does not fit the memory:
// some ranks at a time, each element looked up in the source.
func (c *conversion) fillLarge(ctx context.Context, b *bulk, u unit, limit int64) error {
	sv := &c.schema.vars[u.v]
	if sv.Decomp == 0 {
		return fmt.Errorf("blob: convert: record %d of %q has %d bytes and no decomposition, ConvertOptions.Memory is %d: %w",
			u.rec, sv.Name, (u.hi-u.lo)*int64(sv.Type.Size()), c.o.Memory, ErrTooLarge)
	}
	m, size := b.maps[sv.Decomp-1], int64(sv.Type.Size())
	src, rec := c.src[u.v], u.rec
	if sv.Record {
		rec += c.first
	}
	for from := 0; from < b.ranks; {
		to, sum := from, int64(0)
		for to < b.ranks && (to == from || sum+m.Count(to)*size <= limit) {
			sum += m.Count(to) * size
			to++
		}
		if sum > 4*limit {
			return fmt.Errorf("blob: convert: the blob of rank %d of %q has %d bytes, ConvertOptions.Memory is %d: %w", from, sv.Name, sum, c.o.Memory, ErrTooLarge)
		}
		data := make([][]byte, to-from)
		for k := range data {
			data[k] = make([]byte, m.Count(from+k)*size)
			if err := c.r.rawRuns(ctx, src, rec, func(yield func(int64, int64) bool) {
				for q := range m.Reqs(from + k) {
					if !yield(q.Offset, q.Length) {
						return
					}
				}
			}, data[k], form{hostBig, c.o.ZeroFill}); err != nil {
				return err
			}
		}
		if err := b.write(ctx, []unit{u}, func(_, rank int) []byte {
			if rank < from || rank >= to {
				return nil
			}
			return data[rank-from]
		}); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// assign chooses the maps of the output and gives its variables their
// decompositions. The schema of the conversion is replaced.
func (c *conversion) assign(ctx context.Context) ([]*decomp.Map, int, error) {
	s := NewSchema()
	s.dims, s.atts = c.schema.dims, c.schema.atts
	s.vars = append([]Variable(nil), c.schema.vars...)
	old := c.schema
	c.schema = s
	ranks := c.o.Ranks
	if len(c.o.Maps) == 0 && len(old.decomps) > 0 {
		var maps []*decomp.Map
		for d := range old.decomps {
			m, err := c.r.Map(ctx, DecompID(d+1))
			if err != nil {
				return nil, 0, err
			}
			maps = append(maps, m)
		}
		if ranks == 0 || ranks == maps[0].Ranks() {
			s.decomps = old.decomps
			return maps, maps[0].Ranks(), nil
		}
	}
	for i := range s.vars {
		s.vars[i].Decomp = 0
	}
	if len(c.o.Maps) > 0 {
		ranks = c.o.Maps[0].Ranks()
		return c.o.Maps, ranks, c.assignMaps(s, ranks)
	}
	if ranks == 0 {
		return nil, 0, usageErr("convert to blobs: %s has no maps of its own: want maps, or a number of ranks", c.r.base)
	}
	// Equal parts of canonical order, for every shape that has something for each rank.
	var maps []*decomp.Map
	for i := range s.vars {
		v := &s.vars[i]
		if shape := s.shape(v.Dims, v.Record); len(shape) == 0 || product(shape) < int64(max(ranks, 2)) || v.Type.Size() == 1 {
			continue
		}
		dims := v.Dims
		if v.Record {
			dims = dims[1:]
		}
		for d := range s.decomps {
			if fmt.Sprint(s.decomps[d]) == fmt.Sprint(dims) {
				v.Decomp = DecompID(d + 1)
			}
		}
		if v.Decomp == 0 {
			v.Decomp = s.Decomp(dims...)
			maps = append(maps, decomp.Regular(s.DecompDims(v.Decomp), ranks))
		}
	}
	return maps, ranks, s.err
}

// assignMaps gives each variable the map that is asked for it, or the first of its shape.
func (c *conversion) assignMaps(s *Schema, ranks int) error {
	choice := make([]int, len(s.vars))
	for i := range s.vars {
		v := &s.vars[i]
		if c.o.MapOf != nil {
			choice[i] = c.o.MapOf(v)
			continue
		}
		for k, m := range c.o.Maps {
			if fmt.Sprint(s.shape(v.Dims, v.Record)) == fmt.Sprint(m.Dims()) {
				choice[i] = k + 1
				break
			}
		}
	}
	for k, m := range c.o.Maps {
		if m.Ranks() != ranks {
			return usageErr("convert: map %d is for %d ranks, map 1 for %d", k+1, m.Ranks(), ranks)
		}
		at := -1
		for i, n := range choice {
			if n == k+1 {
				at = i
				break
			}
		}
		if at < 0 {
			return usageErr("convert: no variable has the shape %v of map %d", m.Dims(), k+1)
		}
		dims := s.vars[at].Dims
		if s.vars[at].Record {
			dims = dims[1:]
		}
		s.Decomp(dims...)
	}
	for i := range s.vars {
		v := &s.vars[i]
		if k := choice[i]; k != 0 {
			if k < 0 || k > len(c.o.Maps) {
				return usageErr("convert: variable %q is given map %d, want 1..%d", v.Name, k, len(c.o.Maps))
			}
			if got, want := s.shape(v.Dims, v.Record), c.o.Maps[k-1].Dims(); fmt.Sprint(got) != fmt.Sprint(want) {
				return usageErr("convert: variable %q has shape %v, map %d has %v", v.Name, got, k, want)
			}
			v.Decomp = DecompID(k)
		}
	}
	return s.err
}

// keepsAll checks that the maps of the output own every element that the
// source has: what no rank owns is in no blob.
func (c *conversion) keepsAll(ctx context.Context, maps []*decomp.Map) error {
	if c.o.DropUncovered || len(c.o.Maps) == 0 {
		return nil
	}
	checked := map[[2]DecompID]bool{}
	for i := range c.schema.vars {
		v, src := &c.schema.vars[i], c.r.schema.vars[c.src[i]].Decomp
		if key := [2]DecompID{v.Decomp, src}; v.Decomp == 0 || checked[key] {
			continue
		} else {
			checked[key] = true
		}
		ix, err := maps[v.Decomp-1].Index()
		if err != nil {
			return err
		}
		var from *decomp.Index // nil: the source has every element
		if src != 0 {
			if from, err = c.r.mapIndex(ctx, src); err != nil {
				return err
			}
		}
		lost, first := int64(0), int64(-1)
		gap := func(lo, hi int64) {
			if from == nil && lo < hi {
				if lost += hi - lo; first < 0 {
					first = lo
				}
				return
			}
			for o := range from.Range(lo, hi) {
				if lost += o.Len; first < 0 {
					first = o.Off
				}
			}
		}
		at := int64(0)
		for o := range ix.Range(0, maps[v.Decomp-1].Elems()) {
			if o.Off > at {
				gap(at, o.Off)
			}
			at = o.Off + o.Len
		}
		if n := maps[v.Decomp-1].Elems(); at < n {
			gap(at, n)
		}
		if lost > 0 {
			return usageErr("convert: map %d owns none of %d elements that variable %q has, the first is %d (ConvertOptions.DropUncovered drops them)", v.Decomp, lost, v.Name, first)
		}
	}
	return nil
}
