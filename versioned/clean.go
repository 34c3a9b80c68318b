package versioned

import (
	"cmp"
	"context"
	"slices"
)

// clean finds the files of the current generation that no version needs any more once version number is there with the change sets of this
// process; stay lists the versions that stay, ascending. If files hold so much unneeded data that together they are over the limit, the
// needed chunks of the emptiest are written again with this version, and these files go too. The limit is one size of the data more than the versions
// that are kept could take.
func (c *catalog) clean(ctx context.Context, g *geometry, number int64, stay []int64, sets []*changeSet) (dead []string, err error) {
	stay = inGen(c.record(), stay, g.ID)
	c.mu.RLock()
	live := slices.Repeat([]int64{-1}, len(c.files)) // stored bytes that are needed, by file; -1: it has none of these segments
	c.mu.RUnlock()
	idx := make([]*segIndex, len(sets))
	total, full := int64(0), int64(0)
	for i, p := range sets {
		x, err := c.index(ctx, g, p.rank)
		if err == nil {
			err = x.err
		}
		if err != nil {
			return nil, err
		}
		idx[i] = x
		total += int64(len(p.dirty)) * c.chunk
		full += int64(len(p.local))
		for _, l := range x.chunks {
			for _, e := range l {
				live[e.file] = max(live[e.file], 0)
			}
		}
		x.live(stay, p.dirty, number, func(e fileEntry) { live[e.file] += e.stored })
	}
	type usage struct {
		id   int32
		info *fileInfo
		part float64 // that is needed
	}
	var used []usage
	for id, n := range live {
		info := c.file(int32(id))
		switch {
		case n < 0 || info == nil:
		case n == 0:
			dead = append(dead, info.Name)
		default:
			total += info.Size
			used = append(used, usage{int32(id), info, float64(n) / float64(info.Size)})
		}
	}
	slices.SortFunc(used, func(x, y usage) int { return cmp.Or(cmp.Compare(x.part, y.part), cmp.Compare(x.id, y.id)) })
	move := map[int32]bool{}
	for _, u := range used {
		if total <= int64(len(stay)+1)*full || u.part > 0.9 {
			break
		}
		move[u.id] = true
		total += live[u.id] - u.info.Size
		dead = append(dead, u.info.Name)
	}
	for i, p := range sets {
		if len(move) == 0 {
			break
		}
		idx[i].live(stay, p.dirty, number, func(e fileEntry) {
			if move[e.file] {
				p.moved = append(p.moved, e)
			}
		})
	}
	return dead, nil
}

// cleanOlder finds such files of older generations. It keeps all files of a generation if it cannot find out which of them the remaining versions need.
func (c *catalog) cleanOlder(ctx context.Context, current int, stay []int64) (dead []string, err error) {
	rec := c.record()
	for i := range rec.Generations {
		g := &rec.Generations[i]
		var left []int64
		goes := false
		for _, v := range rec.Versions {
			if v.Generation != g.ID {
				continue
			}
			if _, ok := slices.BinarySearch(stay, v.Number); ok {
				left = append(left, v.Number)
			} else {
				goes = true
			}
		}
		if g.ID == current || !goes || len(left) == 0 { // without versions all of it goes
			continue
		}
		names, err := c.unneeded(ctx, rec, g, left)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			dead = append(dead, names...)
		}
	}
	return dead, nil
}

// unneeded lists the files of a generation that none of the versions, ascending, sees. All of its tables must be readable: an unreadable
// one could have chunks that the versions need.
func (c *catalog) unneeded(ctx context.Context, rec *record, g *geometry, versions []int64) (names []string, err error) {
	needed := map[string]bool{}
	seen := map[int]bool{}
	for i := range rec.Files {
		f := &rec.Files[i]
		if f.Gen != g.ID || len(versions) == 0 {
			continue
		}
		for _, seg := range f.Segs {
			if seen[seg] {
				continue
			}
			seen[seg] = true
			x, err := c.index(ctx, g, seg)
			if err == nil {
				err = x.err
			}
			if err != nil {
				return nil, err
			}
			x.live(versions, nil, -1, func(p fileEntry) { needed[c.file(p.file).Name] = true })
		}
	}
	for _, f := range rec.Files {
		if f.Gen == g.ID && !needed[f.Name] {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// dropped is the record without some versions, and without the files that no other version needs.
func (c *catalog) dropped(ctx context.Context, versions ...int64) (*record, error) {
	rec := c.record().clone()
	for _, n := range versions {
		if err := rec.goes(n); err != nil {
			return nil, err
		}
		rec.drop(n)
	}
	dead := map[string]bool{}
	for i := range rec.Generations {
		g := &rec.Generations[i]
		var left []int64
		for _, v := range rec.Versions {
			if v.Generation == g.ID {
				left = append(left, v.Number)
			}
		}
		names, err := c.unneeded(ctx, rec, g, left)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			dead[n] = true
		}
	}
	rec.Seq++
	rec.prune(dead)
	return rec, nil
}
