package versioned

import (
	"context"
	"slices"
)

// Pieces reads the box [lo, hi) of a version in pieces of at most so many bytes, in row-major order. Elements are in the byte order of
// the host, and those that f gets are its own until it returns.
func (v *View) Pieces(ctx context.Context, version int64, lo, hi []int64, most int, f func(lo, hi []int64, b []byte) error) error {
	size := int64(v.spec.Type.Size())
	buf := []byte(nil)
	return slabs(lo, hi, max(int64(most)/size, 1), func(lo, hi []int64) error {
		n := size
		for d := range lo {
			n *= hi[d] - lo[d]
		}
		if int64(len(buf)) < n {
			buf = make([]byte, n)
		}
		if err := v.Get(ctx, version, lo, hi, buf[:n]); err != nil {
			return err
		}
		return f(lo, hi, buf[:n])
	})
}

// slabs cuts a box, in row-major order, into boxes of at most so many elements.
func slabs(lo, hi []int64, most int64, f func(lo, hi []int64) error) error {
	per := int64(1) // elements of one index of dimension d
	d := len(lo) - 1
	for ; d > 0; d-- {
		n := hi[d] - lo[d]
		if n == 0 {
			return nil
		}
		if per > most/n {
			break
		}
		per *= n
	}
	// Dimensions before d go one by one, d in steps.
	for k := range d {
		if hi[k] <= lo[k] {
			return nil
		}
	}
	step := max(most/per, 1)
	at, end := slices.Clone(lo), slices.Clone(hi)
	for {
		for k := range d {
			end[k] = at[k] + 1
		}
		for x := lo[d]; x < hi[d]; x += step {
			at[d], end[d] = x, min(x+step, hi[d])
			if err := f(at, end); err != nil {
				return err
			}
		}
		k := d - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < hi[k] {
				break
			}
			at[k] = lo[k]
		}
		if k < 0 {
			return nil
		}
	}
}
