package blocks

import (
	"cmp"
	"context"
	"slices"

	"blobio/amr"
	"blobio/comm"
)

// place gives every block of all ranks its row, that of its parent, and its rows in the
// lists; and tells the rows of each list. The result is in order of rows. Rank 0
// does it for all: it holds 12 bytes and 8 for each list, of every block. Collective.
func place(ctx context.Context, c comm.Comm, l *layout, blocks []*amr.Block, ordering amr.Ordering) ([]placed, []int64, error) {
	lists := len(l.lists)
	own := make([]byte, 0, len(blocks)*(12+8*lists))
	for _, b := range blocks {
		for _, w := range b.Index {
			own = native.AppendUint32(own, uint32(w))
		}
		for _, n := range l.counts(b) {
			own = native.AppendUint64(own, uint64(n))
		}
	}
	all, err := c.Gather(ctx, 0, own)
	if err != nil {
		return nil, nil, err
	}
	var out [][]byte
	var perr error
	if c.Rank() == 0 {
		out, perr = placeAll(l, all, ordering)
	}
	if err := comm.Agree(ctx, c, perr); err != nil {
		return nil, nil, err
	}
	got, err := c.Alltoallv(ctx, out)
	if err != nil {
		return nil, nil, err
	}
	next := func(b *[]byte) int64 {
		v := int64(native.Uint64(*b))
		*b = (*b)[8:]
		return v
	}
	in := got[0]
	totals := make([]int64, lists)
	for i := range totals {
		totals[i] = next(&in)
	}
	list := make([]placed, len(blocks))
	for i, b := range blocks {
		p := &list[i]
		p.Block, p.pos, p.parent, p.at = b, next(&in), next(&in), make([]int64, lists)
		for k := range p.at {
			p.at[k] = next(&in)
		}
	}
	slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.pos, b.pos) })
	return list, totals, nil
}

// placeAll is the part of rank 0: for each rank the totals of the lists, then for each of
// its blocks row, parent and rows in the lists.
func placeAll(l *layout, all [][]byte, ordering amr.Ordering) ([][]byte, error) {
	lists := len(l.lists)
	var index []amr.Index
	var counts []int64
	for _, b := range all {
		for len(b) > 0 {
			var x amr.Index
			for k := range x {
				x[k] = int32(native.Uint32(b[4*k:]))
			}
			index, b = append(index, x), b[12:]
			for range lists {
				counts, b = append(counts, int64(native.Uint64(b))), b[8:]
			}
		}
	}
	row := make(map[amr.Index]int64, len(index))
	tree := amr.NewTree(&l.meta.Geometry)
	for i, x := range index {
		if err := tree.Add(x); err != nil {
			return nil, err
		}
		row[x] = int64(i)
	}
	order := make([]int, len(index)) // of the block in each row
	for i := range order {
		order[i] = i
	}
	if ordering != nil {
		list := ordering.Order(tree)
		if len(list) != len(index) {
			return nil, pkg.Usage("ordering %s gives %d blocks of %d", ordering.Name(), len(list), len(index))
		}
		seen := make([]bool, len(index))
		for pos, x := range list {
			i, ok := row[x]
			if !ok || seen[i] {
				return nil, pkg.Usage("ordering %s gives a block that is not there, or one twice", ordering.Name())
			}
			order[pos], seen[i] = int(i), true
		}
		for pos, x := range list {
			row[x] = int64(pos)
		}
	}
	starts := make([]int64, len(counts))
	totals := make([]int64, lists)
	for _, i := range order {
		for k := range totals {
			starts[i*lists+k] = totals[k]
			totals[k] += max(counts[i*lists+k], 0)
		}
	}
	out := make([][]byte, len(all))
	i := 0
	for r, b := range all {
		for _, t := range totals {
			out[r] = native.AppendUint64(out[r], uint64(t))
		}
		for range len(b) / (12 + 8*lists) {
			x := index[i]
			parent, ok := row[x.Parent()]
			if !ok {
				parent = -1
			}
			out[r] = native.AppendUint64(native.AppendUint64(out[r], uint64(row[x])), uint64(parent))
			for k := range totals {
				out[r] = native.AppendUint64(out[r], uint64(starts[i*lists+k]))
			}
			i++
		}
	}
	return out, nil
}
