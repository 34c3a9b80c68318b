package blob

import (
	"encoding/binary"
	"iter"

	"blobio/cdf5"
	"blobio/internal/elem"
)

// hostBig says whether this machine stores the high byte first.
var hostBig = elem.HostBig

func orderOf(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// toFile turns raw memory bytes of type mem into file bytes of type t.
// dst holds as many elements as raw.
func toFile(dst []byte, big bool, t, mem cdf5.Type, raw []byte) error {
	if !sameType(mem, t) {
		return cdf5.ToFile(dst, big, t, cdf5.View(mem, raw))
	}
	if big == hostBig || t.Size() == 1 {
		copy(dst, raw)
	} else {
		cdf5.Swap(dst, raw, t.Size())
	}
	return nil
}

// slabRuns yields the contiguous runs (offset and length, in elements) of a
// hyperslab of a canonical array, in order.
func slabRuns(shape, start, count []int64) iter.Seq2[int64, int64] {
	return func(yield func(off, n int64) bool) {
		if product(count) == 0 {
			return
		}
		// Trailing dimensions that are taken whole join the run.
		k, run, stride := len(shape), int64(1), int64(1)
		base := int64(0)
		strides := make([]int64, len(shape))
		for i := len(shape) - 1; i >= 0; i-- {
			strides[i] = stride
			base += start[i] * stride
			stride *= shape[i]
		}
		for k > 0 {
			k--
			run *= count[k]
			if count[k] != shape[k] {
				break
			}
		}
		idx := make([]int64, k)
		for {
			off := base
			for i, x := range idx {
				off += x * strides[i]
			}
			if !yield(off, run) {
				return
			}
			i := k - 1
			for ; i >= 0; i-- {
				if idx[i]++; idx[i] < count[i] {
					break
				}
				idx[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}
