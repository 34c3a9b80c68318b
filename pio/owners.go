package pio

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"blobio/decomp"
)

// holes reports whether some elements may have no owner: the ranks have fewer elements than the array, or some elements have two
// owners.
func (d *Decomp) holes() bool { return d.total != d.elems || d.once != 1 }

// single reports whether no element has two owners, as the map of a file requires. If InitDecomp could not find out, because some
// elements have no owner, the ranks exchange their runs, once. Collective.
func (d *Decomp) single(ctx context.Context) (bool, error) {
	if d.once != 0 {
		return d.once > 0, nil
	}
	c := d.s.c
	r := &route{routing: share, elems: d.elems}
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

// mix is a 64-bit bijection that scrambles its input.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// excess returns this rank's part of a sum that is 0 if every element of the array has one owner. If the ranks have as many elements
// as the array, but some element has two owners, the sum is 0 only with probability 2^-64.
func (d *Decomp) excess(rank, ranks int) (sum uint64) {
	for _, q := range d.runs {
		for i := q.Offset; i < q.End(); i++ {
			sum += mix(uint64(i) + 1)
		}
	}
	r := &route{routing: share, elems: d.elems}
	for i, end := r.bounds(0, rank, ranks); i < end; i++ {
		sum -= mix(uint64(i) + 1)
	}
	return sum
}

// prints returns this rank's part of the key. Sums over all ranks are equal only for equal maps, except with probability 2^-64.
func (d *Decomp) prints(rank, ranks int) (sum [2]uint64) {
	for i, n := range d.dims {
		sum[1] += mix(uint64(n)+uint64(i)<<56) ^ uint64(ranks)
	}
	h := mix(uint64(rank) + 1)
	for _, r := range d.runs {
		h = mix(h ^ uint64(r.Offset))
		h = mix(h ^ uint64(r.Length))
		sum[1] += h
	}
	sum[0] = mix(h)
	return sum
}
