// Package radix sorts long lists by whole numbers.
package radix

import "math/bits"

const (
	insertionMax = 24 // maximum length of lists for insertion sort
	digitBits    = 11
)

// Sort sorts stably by key: short lists by insertion sort, longer lists by a radix sort on the bits in which keys differ.
func Sort[T any](list []T, key func(*T) int64) {
	i := 1
	for i < len(list) && key(&list[i-1]) <= key(&list[i]) {
		i++
	}
	switch {
	case i >= len(list):
	case len(list) <= insertionMax:
		insert(list, i, key)
	default:
		byDigits(list, key)
	}
}

// insert sorts a list whose first items, up to i, are sorted.
func insert[T any](list []T, i int, key func(*T) int64) {
	for ; i < len(list); i++ {
		x := list[i]
		j := i
		for ; j > 0 && key(&list[j-1]) > key(&x); j-- {
			list[j] = list[j-1]
		}
		list[j] = x
	}
}

func byDigits[T any](list []T, key func(*T) int64) {
	keys := make([]uint64, len(list))
	lo, hi := key(&list[0]), key(&list[0])
	for i := range list {
		k := key(&list[i])
		keys[i] = uint64(k)
		lo, hi = min(lo, k), max(hi, k)
	}
	width := bits.Len64(uint64(hi) - uint64(lo)) // wraps correctly for any int64
	// Wide digits mean few passes. But each pass clears 2^digit counters, so the width of a digit follows the length of the
	// list.
	digit := min(digitBits, max(4, bits.Len(uint(len(list)))))
	passes := (width + digit - 1) / digit
	digit = (width + passes - 1) / passes
	mask := uint64(1)<<digit - 1
	var count [1 << digitBits]int
	src, dst := list, make([]T, len(list))
	from, to := keys, make([]uint64, len(list))
	for shift := 0; shift < passes*digit; shift += digit {
		c := count[: mask+1 : mask+1]
		clear(c)
		for _, k := range from {
			c[(k-uint64(lo))>>shift&mask]++
		}
		sum := 0
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for i, k := range from {
			at := &c[(k-uint64(lo))>>shift&mask]
			dst[*at], to[*at] = src[i], k
			*at++
		}
		src, dst, from, to = dst, src, to, from
	}
	if passes%2 == 1 {
		copy(list, src)
	}
}
