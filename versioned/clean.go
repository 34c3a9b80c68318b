package versioned

import (
	"cmp"
	"context"
	"slices"
)

// clean finds the files of the current generation that no version will need after the commit of version number. sets are the
// changes of this process, and stay lists the versions that remain, ascending. clean also limits the size of all files to one
// array size more than the maximum size of the kept versions: above this limit it adds the needed chunks of the files with the
// smallest needed fraction to the new version, so that these files can be dropped, too.
func (c *catalog) clean(ctx context.Context, g *geometry, number int64, stay []int64, sets []*changeSet) (dead []string, err error) {
	stay = inGen(c.record(), stay, g.ID)
	c.mu.RLock()
	live := slices.Repeat([]int64{-1}, len(c.files)) // needed stored bytes of each file; -1: the file has none of these segments
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
		part float64 // fraction of the file that is needed
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

// cleanOlder finds unneeded files of older generations. If it cannot determine which files of a generation the remaining versions
// need, it keeps all files of this generation.
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
		if g.ID == current || !goes || len(left) == 0 { // if no version of the generation remains, all its files are dropped
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

// unneeded lists the files of a generation that none of the versions needs. versions is ascending. All tables of the generation
// must be readable, because a file with an unreadable table could have chunks that the versions need.
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

// dropped returns the record without some versions and without the files that no other version needs.
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
