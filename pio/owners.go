package pio

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"blobio/decomp"
)

// holes says that elements may be without an owner: certainly if there are fewer than the array has, and perhaps if some have two.
func (d *Decomp) holes() bool { return d.total != d.elems || d.once != 1 }

// single says whether each element has at most one owner: a map in a file must not have more. It is found out once. Collective.
func (d *Decomp) single(ctx context.Context) (bool, error) {
	if d.once != 0 {
		return d.once > 0, nil
	}
	c := d.s.c
	r := &route{way: share, elems: d.elems}
	out := make([][]byte, c.Size())
	last := make([]int64, c.Size())
	for _, q := range d.runs {
		for off, n := q.Offset, q.Length; n > 0; {
			p, end := r.owner(off, 0, c.Size())
			k := min(n, end-off)
			out[p] = binary.AppendUvarint(out[p], uint64(off-last[p]))
			out[p] = binary.AppendUvarint(out[p], uint64(k))
			off, n = off+k, n-k
			last[p] = off
		}
	}
	in, err := c.Alltoallv(ctx, out)
	if err != nil {
		return false, err
	}
	var list []decomp.Req
	for _, b := range in {
		at := int64(0)
		for len(b) > 0 {
			d, k := binary.Uvarint(b)
			n, m := binary.Uvarint(b[max(k, 0):])
			if k <= 0 || m <= 0 {
				break
			}
			list = append(list, decomp.Req{Offset: at + int64(d), Length: int64(n)})
			at, b = at+int64(d+n), b[k+m:]
		}
	}
	slices.SortFunc(list, func(a, b decomp.Req) int { return cmp.Compare(a.Offset, b.Offset) })
	twice := int64(0)
	for i := 1; i < len(list); i++ {
		if list[i].Offset < list[i-1].End() {
			twice = -1
		}
	}
	got, err := agreeMin(ctx, c, nil, twice)
	if err != nil {
		return false, err
	}
	if d.once = 1; got[0] < 0 {
		d.once = -1
	}
	return d.once > 0, nil
}
