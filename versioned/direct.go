package versioned

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/comm"
)

// Where all ranks are of one process and versions live in its memory, a version needs no container, no leader and no messages: each rank keeps
// its changed chunks in a block, and one of them enters the blocks of all into the catalog. There are two collectives: after the first
// all puts are done, after the second all ranks know the blocks of all, and whether one has failed.

// block is what one rank has for a version, in the place of a file.
type block struct {
	reader
	table []entry
	users atomic.Int64 // that read it; below 0: it is gone
}

const gone = math.MinInt64 / 2

// use calls f while the bytes are there.
func (b *block) use(f func(x *reader) error) error {
	defer b.users.Add(-1)
	if b.users.Add(1) < 0 {
		return pkg.Errorf("it was dropped while it was read: %w", ErrNoVersion)
	}
	return f(&b.reader)
}

// end gives the bytes back, nil if somebody reads them.
func (b *block) end() []byte {
	if !b.users.CompareAndSwap(0, gone) {
		return nil
	}
	return b.data
}

// deposit is what a rank brings to a commit.
type deposit struct {
	err     error
	number  int64
	label   string
	info    fileInfo
	changed int64
	dead    []string
	time    int64

	free []byte // of a block of the rank that has gone

	once   sync.Once // of the one of rank 0: the first that comes enters all
	failed bool      // likewise: one of them has failed
}

// incDirect is the rest of Inc after its fence.
func (a *Array) incDirect(ctx context.Context, number int64, label string, bad error) (int64, error) {
	d := &deposit{err: bad, number: number, label: label}
	var p *part
	if bad == nil {
		p = a.changed()
		d.err = a.deposit(ctx, d, number, p)
	}
	all, err := a.c.Share(ctx, d)
	if err != nil {
		return 0, err
	}
	first := all[0].(*deposit)
	first.once.Do(func() { first.failed = !a.enter(all, number, label) })
	if first.failed {
		if err := comm.Agree(ctx, a.c, d.err); err != nil { // on all ranks
			return 0, err
		}
		for r, v := range all {
			if x := v.(*deposit); x.number != first.number || x.label != first.label {
				return 0, differ(a.spec.Name, r, x.number, x.label, first.number, first.label)
			}
		}
	}
	a.keep(p)
	if d.free != nil {
		a.free = d.free
	}
	return number, nil
}

// deposit makes the block of this rank.
func (a *Array) deposit(ctx context.Context, d *deposit, number int64, p *part) error {
	if p.rank == 0 {
		d.time = a.opt.Clock().UnixNano()
	}
	w := &written{info: fileInfo{Born: number}}
	keep := retained(a.cat.record().Versions, number, a.spec.Keep, a.pins)
	if err := a.clean(ctx, w, keep, []*part{p}); err != nil {
		return err
	}
	if err := a.cleanOlder(ctx, w, keep, func(f *fileInfo) bool { return f.Segs[0] == p.rank }); err != nil {
		return err
	}
	d.dead = w.dead
	if len(p.dirty)+len(p.moved) == 0 {
		return nil
	}
	plain := a.cat.code.plain()
	var room []byte
	if plain { // the block keeps the bytes
		need := len(p.dirty) * int(a.cat.chunk)
		if p.buf = nil; cap(a.free) >= need && cap(a.free)/4 <= need {
			room, a.free = a.free[:0], nil
			p.buf = &room
		}
	}
	es, data, err := a.pack(p, number)
	if err != nil {
		return err
	}
	if !plain || len(p.dirty) > 0 && &data[0] == &p.local[p.dirty[0]*a.cat.chunk] {
		data = append(room[:0], data...)
	}
	d.info = fileInfo{Name: dataName(a.geo.ID, number, p.rank), Node: a.nodeID, Gen: a.geo.ID, Born: number, From: number, Segs: []int{p.rank},
		Size: int64(len(data) + entryLen*len(es)), block: &block{reader: reader{data: data}, table: es}}
	for _, e := range es {
		d.info.From = min(d.info.From, e.since)
	}
	d.changed = int64(len(p.dirty)) * a.cat.chunk
	return nil
}

// enter makes the version, of the deposits of all ranks; false: one has failed, or wants another one, and there is none.
func (a *Array) enter(all []any, number int64, label string) bool {
	for _, v := range all {
		if d := v.(*deposit); d.err != nil || d.number != all[0].(*deposit).number || d.label != all[0].(*deposit).label {
			return false
		}
	}
	c := a.cat
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rec
	rec := new(record)
	*rec = *old // what is in its slices does not change
	rec.Seq++
	rec.Spec.Shape = slices.Clone(a.shape)
	if last := old.Generations[len(old.Generations)-1]; last.ID != a.geo.ID {
		rec.Generations = append(slices.Clip(old.Generations), a.geo)
	}
	v := verInfo{Number: number, Label: label, Gen: a.geo.ID, Shape: rec.Spec.Shape, Time: all[0].(*deposit).time}
	rec.Versions = append(make([]verInfo, 0, len(old.Versions)+1), old.Versions...)
	rec.Files = make([]fileInfo, 0, len(old.Files)+len(all))
	var dead []string
	for _, x := range all {
		dead = append(dead, x.(*deposit).dead...)
	}
	slices.Sort(dead)
	a.add(rec, v)
	less := len(rec.Versions) <= len(old.Versions) || len(dead) > 0
	if less {
		rec.Generations = rec.needed()
	}
	for i := range old.Files {
		f := &old.Files[i]
		_, ends := slices.BinarySearch(dead, f.Name)
		if !ends && less {
			_, there := rec.generation(f.Gen)
			ends = !there
		}
		if ends {
			if b := f.block.end(); b != nil {
				all[f.Segs[0]].(*deposit).free = b // of the same ranks: an array in memory has no others
			}
			c.files[c.ids[f.Name]] = nil
			delete(c.ids, f.Name)
			continue
		}
		rec.Files = append(rec.Files, *f)
	}
	for _, x := range all {
		if d := x.(*deposit); d.info.block != nil {
			v.Changed += d.changed
			v.Written += d.info.Size
			c.note(&d.info, [][]entry{d.info.block.table})
			rec.Files = append(rec.Files, d.info)
		}
	}
	rec.Versions[len(rec.Versions)-1] = v
	c.rec = rec
	if less {
		maps.DeleteFunc(c.idx, func(k [2]int, _ *segIndex) bool { _, ok := rec.generation(k[0]); return !ok })
		c.prune()
	}
	return true
}
