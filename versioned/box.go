package versioned

import (
	"blobio/internal/base/fault"
	"fmt"
)

// runs calls f for each run of consecutive elements of the box [lo, hi) in row-major order: its first element in the
// flattened array, its length, and its first element in the flattened box. It stops at the first error.
func runs(shape, lo, hi []int64, f func(off, n, at int64) error) error {
	nd := len(shape)
	// The slowest dimensions from which on the box is whole form one run.
	k := nd - 1
	n := hi[k] - lo[k]
	for k > 0 && lo[k] == 0 && hi[k] == shape[k] {
		k--
		n *= hi[k] - lo[k]
	}
	if n == 0 {
		return nil
	}
	stride := [maxDims]int64{}
	s := int64(1)
	for d := nd - 1; d >= 0; d-- {
		stride[d] = s
		s *= shape[d]
	}
	idx := [maxDims]int64{}
	off := int64(0)
	for d := range nd {
		if lo[d] >= hi[d] {
			return nil
		}
		idx[d] = lo[d]
		off += lo[d] * stride[d]
	}
	at := int64(0)
	for {
		if err := f(off, n, at); err != nil {
			return err
		}
		at += n
		d := k - 1
		for ; d >= 0; d-- {
			idx[d]++
			off += stride[d]
			if idx[d] < hi[d] {
				break
			}
			off -= (hi[d] - lo[d]) * stride[d]
			idx[d] = lo[d]
		}
		if d < 0 {
			return nil
		}
	}
}

// checkBox checks [lo, hi) against a shape and the number of elements of the buffer.
func checkBox(name string, shape, lo, hi []int64, have int64) error {
	if len(lo) != len(shape) || len(hi) != len(shape) {
		return fault.Usage("array %s: range of %d and %d dimensions, it has %d", name, len(lo), len(hi), len(shape))
	}
	n := int64(1)
	for d := range shape {
		if lo[d] < 0 || hi[d] < lo[d] || hi[d] > shape[d] {
			return fmt.Errorf("array %s: dimension %d: [%d, %d), it has %d: %w", name, d, lo[d], hi[d], shape[d], fault.ErrRange)
		}
		n *= hi[d] - lo[d]
	}
	if n != have {
		return fault.Usage("array %s: buffer of %d elements for a range of %d", name, have, n)
	}
	return nil
}
