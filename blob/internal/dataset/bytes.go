package dataset

import (
	"encoding/binary"
	"fmt"
	"iter"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// HostBig reports whether this machine stores the high byte first.
var HostBig = elem.HostBig

func OrderOf(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// ToFile converts raw memory bytes of type mem to file bytes of type t. dst has as many elements as raw.
func ToFile(dst []byte, big bool, t, mem cdf5.Type, raw []byte) error {
	if !SameType(mem, t) {
		return cdf5.ToFile(dst, big, t, cdf5.View(mem, raw))
	}
	if big == HostBig || t.Size() == 1 {
		copy(dst, raw)
	} else {
		elem.Swap(dst, raw, t.Size())
	}
	return nil
}

// SlabRuns yields the contiguous runs (offset and length, in elements) of a
// hyperslab of a canonical array, in order.
func SlabRuns(shape, start, count []int64) iter.Seq2[int64, int64] {
	return func(yield func(off, n int64) bool) {
		if Product(count) == 0 {
			return
		}
		// Trailing dimensions that are read whole join the run.
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

// Number is the constraint of element types that can be put and read.
type Number interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

func CheckSlab(shape, start, count []int64) error {
	if len(start) != len(shape) || len(count) != len(shape) {
		return fmt.Errorf("%d starts and %d counts, want %d of each", len(start), len(count), len(shape))
	}
	for i, n := range shape {
		if start[i] < 0 || count[i] < 0 || start[i] > n || count[i] > n-start[i] {
			return fmt.Errorf("dimension %d: %d elements from index %d on, want a range within %d elements", i, count[i], start[i], n)
		}
	}
	return nil
}

// SameType reports whether memory of type mem equals data of the file type, except for byte order. Memory of type byte
// matches char and both byte types.
func SameType(mem, file cdf5.Type) bool {
	return mem == file || mem == cdf5.UByte && file == cdf5.Char
}

// MemType returns the file type of T.
func MemType[T Number]() cdf5.Type {
	_, t, _ := cdf5.SliceLen([]T(nil))
	return t
}

func PutInt(b []byte, order binary.ByteOrder, size, v int64) {
	if size == 8 {
		order.PutUint64(b, uint64(v))
	} else {
		order.PutUint32(b, uint32(v))
	}
}
