package versioned

import (
	"cmp"
	"context"
	"slices"
)

// usage is how much of a file is needed.
type usage struct {
	info *fileInfo
	live int64 // stored bytes
}

// usages are the files of some segments, ascending by id.
type usages struct {
	ids  []int32
	all  []usage
	last int // where the search before has ended: what follows each other in an index is often so in files too
}

// find returns where a file is; false: where it belongs.
func (u *usages) find(id int32) (int, bool) {
	for i := u.last; i < min(u.last+2, len(u.ids)); i++ {
		if u.ids[i] == id {
			u.last = i
			return i, true
		}
	}
	i, ok := slices.BinarySearch(u.ids, id)
	u.last = i
	return i, ok
}

func (u *usages) add(id int32, info *fileInfo) {
	if i, ok := u.find(id); !ok {
		u.ids, u.all = slices.Insert(u.ids, i, id), slices.Insert(u.all, i, usage{info: info})
	}
}

// file is the one of a file that was added.
func (u *usages) file(id int32) *usage {
	i, _ := u.find(id)
	return &u.all[i]
}

// cleaner finds the files of one process that no version needs when the versions are those of stay.
type cleaner struct {
	cat    *catalog
	geo    *geometry // of the current generation
	keep   Retention
	number int64    // the version that is written then; -1: none is, by a Drop
	stay   []int64  // ascending
	dead   []string // what was found
}

// current looks at the files of the current generation. Where files
// hold so much that nobody needs that together they are over the limit, what is needed of the emptiest of
// them is written again, with this version, and they go too. The limit is one size of the data
// more than the versions that are kept could take.
func (w *cleaner) current(ctx context.Context, sets []*changeSet) error {
	c := w.cat
	if w.keep.Last == 0 && w.number >= 0 {
		return nil // nothing goes
	}
	stay := inGen(c.record(), w.stay, w.geo.ID)
	uses := &usages{}
	idx := make([]*segIndex, len(sets))
	total, full := int64(0), int64(0)
	for i, p := range sets {
		x, err := c.index(ctx, w.geo, p.rank)
		if err == nil {
			err = x.err
		}
		if err != nil {
			return err
		}
		idx[i] = x
		total += int64(len(p.dirty)) * c.chunk
		full += int64(len(p.local))
		c.mu.RLock()
		for _, l := range x.chunks {
			for _, e := range l {
				uses.add(e.file, c.files[e.file])
			}
		}
		x.live(stay, p.dirty, w.number, func(e fileEntry) { uses.file(e.file).live += e.stored })
		c.mu.RUnlock()
	}
	limit := int64(len(stay)+1) * full
	var order []int32
	for i, id := range uses.ids {
		u := &uses.all[i]
		if u.info == nil {
			continue
		}
		if u.live == 0 {
			w.dead = append(w.dead, u.info.Name)
			continue
		}
		total += u.info.Size
		order = append(order, id)
	}
	if w.keep.Last == 0 || total <= limit || w.number < 0 { // a Drop writes nothing
		return nil
	}
	slices.SortFunc(order, func(x, y int32) int {
		ux, uy := uses.file(x), uses.file(y)
		return cmp.Or(cmp.Compare(float64(ux.live)/float64(ux.info.Size), float64(uy.live)/float64(uy.info.Size)), cmp.Compare(x, y))
	})
	move := map[int32]bool{}
	for _, id := range order {
		u := uses.file(id)
		if total <= limit || u.live > u.info.Size*9/10 {
			break
		}
		move[id] = true
		total += u.live - u.info.Size
		w.dead = append(w.dead, u.info.Name)
	}
	for i, p := range sets {
		c.mu.RLock()
		idx[i].live(stay, p.dirty, w.number, func(e fileEntry) {
			if move[e.file] {
				p.moved = append(p.moved, e)
			}
		})
		c.mu.RUnlock()
	}
	return nil
}

// older looks at the files of older generations. mine says of which files this rank
// decides; what it cannot read the tables of stays.
func (w *cleaner) older(ctx context.Context, mine func(f *fileInfo) bool) error {
	c := w.cat
	rec := c.record()
	if len(rec.Generations) == 1 && rec.Generations[0].ID == w.geo.ID || len(w.stay) > len(rec.Versions) { // no version goes
		return nil
	}
	for i := range rec.Generations {
		g := &rec.Generations[i]
		if g.ID == w.geo.ID {
			continue
		}
		var stay []int64
		goes := false
		for _, v := range rec.Versions {
			if v.Gen != g.ID {
				continue
			}
			if _, ok := slices.BinarySearch(w.stay, v.Number); ok {
				stay = append(stay, v.Number)
			} else {
				goes = true
			}
		}
		if !goes || len(stay) == 0 { // without versions all of it goes
			continue
		}
		needed := map[string]bool{}
		seen := map[int]bool{}
		var files []string
		for k := range rec.Files {
			f := &rec.Files[k]
			if f.Gen != g.ID || !mine(f) {
				continue
			}
			files = append(files, f.Name)
			for _, seg := range f.Segs {
				if seen[seg] {
					continue
				}
				seen[seg] = true
				x, err := c.index(ctx, g, seg)
				if err == nil {
					err = x.err
				}
				if ctx.Err() != nil {
					return err
				}
				c.mu.RLock()
				if err != nil { // any of its files may have what is needed
					for n := range rec.Files {
						if o := &rec.Files[n]; o.Gen == g.ID && slices.Contains(o.Segs, seg) {
							needed[o.Name] = true
						}
					}
				} else {
					x.live(stay, nil, -1, func(p fileEntry) {
						if f := c.files[p.file]; f != nil {
							needed[f.Name] = true
						}
					})
				}
				c.mu.RUnlock()
			}
		}
		for _, n := range files {
			if !needed[n] {
				w.dead = append(w.dead, n)
			}
		}
	}
	return nil
}
