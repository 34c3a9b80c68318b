package dap

import (
	"context"
	"slices"

	"blobio/internal/base/chunks"
)

// Sizes of reads, in bytes.
const (
	defaultWindow = 1 << 20
	defaultGap    = 64 << 10 // maximum gap between elements; a smaller gap is read together with the elements
)

// each calls f with the elements of a part in order, big-endian, in pieces of whole elements of about a window. f must not keep
// the elements, because buf is reused.
func (d *Dataset) each(ctx context.Context, p *part, buf *[]byte, f func(b []byte) error) error {
	at := p.at
	if p.v.last != "" { // the dimension of the characters
		at = append(at[:len(at):len(at)], slice{0, 1, p.v.row})
	}
	size, window, maxGap := int64(p.v.Type.Size()), d.window, d.gap
	for _, s := range at {
		if s.count == 0 {
			return nil
		}
	}
	// Dimension k and all later dimensions are read at once, including gaps between the elements. Dimension k-1 is read in
	// pieces of m elements.
	k, inner := len(at), size
	for ; k > 0; k-- {
		s := at[k-1]
		if s.dense() > window/inner || s.stride > 1 && s.stride > maxGap/inner {
			break
		}
		inner *= s.dense()
	}
	m := int64(1)
	if k > 0 && inner <= window {
		switch s := at[k-1]; {
		case s.stride == 1:
			m = window / inner
		case s.stride <= maxGap/inner:
			m = (window/inner-1)/s.stride + 1
		}
	}
	start, count, part := make([]int64, len(at)), make([]int64, len(at)), make([]slice, len(at))
	for i := k; i < len(at); i++ {
		start[i], count[i], part[i] = at[i].start, at[i].dense(), at[i]
	}
	idx := make([]int64, k) // of the next elements
	for {
		n, picked := inner, size
		for i := range k {
			c := int64(1)
			if i == k-1 {
				c = min(m, at[i].count-idx[i])
			}
			part[i] = slice{0, at[i].stride, c}
			start[i], count[i] = at[i].start+idx[i]*at[i].stride, part[i].dense()
			n *= count[i]
		}
		for i := range part {
			picked *= part[i].count
		}
		if int64(cap(*buf)) < n {
			*buf = make([]byte, n)
		}
		b := (*buf)[:n]
		switch err := d.read(ctx, p.v.Name, start, count, b); {
		case err == nil && picked != n:
			gather(b, b, part, count, size)
		case err == nil:
		case picked == n || ctx.Err() != nil:
			return err
		default: // the damage may lie between the elements
			if err := d.only(ctx, p.v, start, part, b[:picked]); err != nil {
				return err
			}
		}
		if err := f(b[:picked]); err != nil {
			return err
		}
		i := k - 1
		for ; i >= 0; i-- {
			step := int64(1)
			if i == k-1 {
				step = m
			}
			if idx[i] += step; idx[i] < at[i].count {
				break
			}
			idx[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// only reads exactly the selected elements of a block, and nothing between them.
func (d *Dataset) only(ctx context.Context, v *variable, start []int64, part []slice, dst []byte) error {
	at, count, n := slices.Clone(start), make([]int64, len(part)), int64(v.Type.Size())
	k := len(part) // dimension k and all later dimensions are read at once
	for ; k > 0 && (part[k-1].stride == 1 || part[k-1].count == 1); k-- {
		count[k-1] = part[k-1].count
		n *= count[k-1]
	}
	idx, picked := make([]int64, k), make([]int64, k)
	for i := range k {
		count[i], picked[i] = 1, part[i].count
	}
	for {
		if err := d.read(ctx, v.Name, at, count, dst[:n]); err != nil {
			return err
		}
		dst = dst[n:]
		if !chunks.Next(idx, picked) {
			return nil
		}
		for i, x := range idx {
			at[i] = start[i] + x*part[i].stride
		}
	}
}

// gather packs the selected elements of a block with count elements per dimension into dst, and returns the rest of dst. dst may
// be src, because gather never writes beyond the position that it reads.
func gather(dst, src []byte, at []slice, count []int64, size int64) []byte {
	if len(at) == 0 {
		return dst[copy(dst, src[:size]):]
	}
	row := size
	for _, n := range count[1:] {
		row *= n
	}
	for i := range at[0].count {
		dst = gather(dst, src[i*at[0].stride*row:], at[1:], count[1:], size)
	}
	return dst
}
