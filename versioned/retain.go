package versioned

import (
	"cmp"
	"context"
	"slices"

	"blobio/comm"
)

// retained lists the numbers of the versions that stay when number (0 or more; -1: none) is added, ascending. Those of
// pins, ascending, stay in any case.
func retained(versions []verInfo, number int64, keep Retention, pins []int64) []int64 {
	var all []int64
	for _, v := range versions {
		all = append(all, v.Number)
	}
	if number >= 0 {
		all = append(all, number)
	}
	if keep.Last == 0 {
		return all
	}
	from := max(len(all)-keep.Last, 0)
	var out []int64
	for i, n := range all {
		_, pinned := slices.BinarySearch(pins, n)
		if i >= from || keep.Every > 0 && n%keep.Every == 0 || pinned {
			out = append(out, n)
		}
	}
	return out
}

// inGen keeps the numbers of the versions of one generation; those that are not in the record belong to it.
func inGen(rec *record, numbers []int64, gen int) []int64 {
	return slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool {
		v, ok := rec.version(n)
		return ok && v.Gen != gen
	})
}

// usage is how much of a file is needed.
type usage struct {
	info *fileInfo
	live int64 // stored bytes
}

// usages are the files of some segments, ascending by id.
type usages struct {
	ids  []int32
	of   []usage
	last int // where the search before has ended: what follows each other in an index is often so in files too
}

// find returns the place of a file; false: where it belongs.
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
		u.ids, u.of = slices.Insert(u.ids, i, id), slices.Insert(u.of, i, usage{info: info})
	}
}

// at is the one of a file that was added.
func (u *usages) at(id int32) *usage {
	i, _ := u.find(id)
	return &u.of[i]
}

// clean finds the files of this process that no version will need when this one is committed. Where files
// hold so much that nobody needs that together they are over the limit, what is needed of the emptiest of
// them is written again, with this version, and they go too. The limit is one size of the data
// more than the versions that are kept could take.
func (a *Array) clean(ctx context.Context, w *written, keep []int64, parts []*part) error {
	c := a.cat
	if a.spec.Keep.Last == 0 && w.info.Born >= 0 && a.protected == nil {
		return nil // nothing goes
	}
	rec := c.record()
	keep = inGen(rec, keep, a.geo.ID)
	uses := &usages{}
	idx := make([]*segIndex, len(parts))
	total, full := int64(0), int64(0)
	var bad error
	for i, p := range parts {
		x, err := c.index(ctx, &a.geo, p.rank)
		if err == nil {
			err = x.err
		}
		if err != nil {
			bad = err
			break
		}
		idx[i] = x
		total += int64(len(p.dirty)) * c.chunk
		full += int64(len(p.local))
		c.mu.RLock()
		for _, l := range x.at {
			for _, e := range l {
				uses.add(e.file, c.files[e.file])
			}
		}
		x.live(keep, p.dirty, w.info.Born, func(e place) { uses.at(e.file).live += e.stored })
		c.mu.RUnlock()
	}
	limit := int64(len(keep)+1) * full
	if a.protected != nil {
		own := func(f *fileInfo) bool {
			return f != nil && f.Gen == a.geo.ID && slices.ContainsFunc(parts, func(p *part) bool { return slices.Contains(f.Segs, p.rank) })
		}
		c.mu.RLock()
		for id, f := range c.files { // those that stay for the sake of others
			if own(f) {
				uses.add(int32(id), f)
			}
		}
		c.mu.RUnlock()
		return a.cleanTogether(ctx, w, keep, parts, idx, uses, total, limit, bad)
	}
	if bad != nil {
		return bad
	}
	var order []int32
	for i, id := range uses.ids {
		u := &uses.of[i]
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
	if a.spec.Keep.Last == 0 || total <= limit || w.info.Born < 0 { // a Drop writes nothing
		return nil
	}
	slices.SortFunc(order, func(x, y int32) int {
		ux, uy := uses.at(x), uses.at(y)
		return cmp.Or(cmp.Compare(float64(ux.live)/float64(ux.info.Size), float64(uy.live)/float64(uy.info.Size)), cmp.Compare(x, y))
	})
	move := map[int32]bool{}
	for _, id := range order {
		u := uses.at(id)
		if total <= limit || u.live > u.info.Size*9/10 {
			break
		}
		move[id] = true
		total += u.live - u.info.Size
		w.dead = append(w.dead, u.info.Name)
	}
	for i, p := range parts {
		c.mu.RLock()
		idx[i].live(keep, p.dirty, w.info.Born, func(e place) {
			if move[e.file] {
				p.moved = append(p.moved, e)
			}
		})
		c.mu.RUnlock()
	}
	return nil
}

// cleanOlder finds the files of older generations that no version needs when only those of keep are left. mine says of which files this rank
// decides; what it cannot read the tables of stays.
func (a *Array) cleanOlder(ctx context.Context, w *written, keep []int64, mine func(f *fileInfo) bool) error {
	c := a.cat
	rec := c.record()
	if len(rec.Generations) == 1 && rec.Generations[0].ID == a.geo.ID || len(keep) > len(rec.Versions) { // no version goes
		return nil
	}
	for i := range rec.Generations {
		g := &rec.Generations[i]
		if g.ID == a.geo.ID {
			continue
		}
		var stay []int64
		goes := false
		for _, v := range rec.Versions {
			if v.Gen != g.ID {
				continue
			}
			if _, ok := slices.BinarySearch(keep, v.Number); ok {
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
					x.live(stay, nil, -1, func(p place) {
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

// keeps says whether this process decides of a file of an older generation: that of the node that has it, or of the nodes in turn.
func (a *Array) keeps(f *fileInfo) bool {
	node := f.Node
	if a.shared && len(f.Segs) > 0 {
		node = f.Segs[0] % a.nodes
	}
	return a.keeper && node == a.nodeID
}

// cleanTogether is the end of clean where files are protected together: all processes take the same decision on the files of one version, over the
// sums of all, and none goes before the others can.
func (a *Array) cleanTogether(ctx context.Context, w *written, keep []int64, parts []*part, idx []*segIndex, uses *usages, total, limit int64, bad error) error {
	if err := comm.Agree(ctx, a.lead, bad); err != nil {
		return err
	}
	mine := map[int64][2]int64{} // live and stored bytes by version
	for _, u := range uses.of {
		if u.info != nil {
			m := mine[u.info.Born]
			mine[u.info.Born] = [2]int64{m[0] + u.live, m[1] + u.info.Size}
		}
	}
	v := []int64{total, limit}
	for born, m := range mine {
		v = append(v, born, m[0], m[1])
	}
	all, err := a.lead.Allgather(ctx, Bytes(v))
	if err != nil {
		return err
	}
	sums := map[int64][2]int64{}
	total, limit = 0, 0
	for _, b := range all {
		v := make([]int64, len(b)/8)
		copy(Bytes(v), b)
		total, limit = total+v[0], limit+v[1]
		for i := 2; i < len(v); i += 3 {
			m := sums[v[i]]
			sums[v[i]] = [2]int64{m[0] + v[i+1], m[1] + v[i+2]}
		}
	}
	var order []int64
	gone, move := map[int64]bool{}, map[int64]bool{}
	for born, m := range sums {
		if m[0] == 0 {
			gone[born] = true
			continue
		}
		total += m[1]
		order = append(order, born)
	}
	slices.SortFunc(order, func(x, y int64) int {
		return cmp.Or(cmp.Compare(float64(sums[x][0])/float64(sums[x][1]), float64(sums[y][0])/float64(sums[y][1])), cmp.Compare(x, y))
	})
	for _, born := range order {
		m := sums[born]
		if a.spec.Keep.Last == 0 || w.info.Born < 0 || total <= limit || m[0] > m[1]*9/10 {
			break
		}
		gone[born], move[born] = true, true
		total += m[0] - m[1]
	}
	for _, u := range uses.of {
		if u.info != nil && gone[u.info.Born] {
			w.dead = append(w.dead, u.info.Name)
		}
	}
	a.cat.mu.RLock()
	defer a.cat.mu.RUnlock()
	for i, p := range parts {
		idx[i].live(keep, p.dirty, w.info.Born, func(e place) {
			if move[uses.at(e.file).info.Born] {
				p.moved = append(p.moved, e)
			}
		})
	}
	return nil
}

// Drop forgets a committed version that is not the newest one. The others stay as they are. It is collective.
func (a *Array) Drop(ctx context.Context, version int64) error {
	bad := a.broken
	old := a.cat.record()
	rec := old.clone()
	if bad == nil {
		n := len(rec.Versions)
		if _, ok := rec.version(version); !ok {
			bad = pkg.Errorf("array %s: version %d: %w", a.spec.Name, version, ErrNoVersion)
		} else if rec.Versions[n-1].Number == version {
			bad = usageErr("array %s: version %d is the newest one", a.spec.Name, version)
		} else if _, pinned := slices.BinarySearch(a.pins, version); pinned {
			bad = usageErr("array %s: version %d belongs to a snapshot; drop that", a.spec.Name, version)
		}
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	rec.Seq++
	rec.Versions = slices.DeleteFunc(rec.Versions, func(v verInfo) bool { return v.Number == version })
	var keep []int64
	for _, v := range rec.Versions {
		keep = append(keep, v.Number)
	}
	got, err := a.node.Share(ctx, &part{rank: a.c.Rank()})
	if err != nil {
		return err
	}
	dead := []byte(nil)
	if a.node.Rank() == 0 {
		var parts []*part
		for _, v := range got {
			if v != nil {
				parts = append(parts, v.(*part))
			}
		}
		w := &written{info: fileInfo{Born: -1}}
		if err = a.clean(ctx, w, keep, parts); err == nil {
			err = a.cleanOlder(ctx, w, keep, a.keeps)
		}
		if err == nil {
			for _, n := range w.dead {
				dead = append(append(dead, n...), 0)
			}
		}
	}
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return err
	}
	all, err := a.c.Allgather(ctx, dead)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, b := range all {
		for _, n := range splitZero(b) {
			names[n] = true
		}
	}
	rec.prune(names)
	if err := a.writeRecords(ctx, rec, true); err != nil {
		return err
	}
	return a.adopt(ctx, rec)
}

func splitZero(b []byte) (out []string) {
	for len(b) > 0 {
		i := slices.Index(b, 0)
		out, b = append(out, string(b[:i])), b[i+1:]
	}
	return out
}
