package sfc

import (
	"math"
	"sort"
)

// ByCount cuts n units of a curve into parts. Unit i is in part floor(i*parts/n), which is Cello's rule for blocks and files. The
// result has parts+1 elements: part p is [starts[p], starts[p+1]). Sizes differ by at most one. If there are more parts than
// units, some parts are empty. n must be >= 0; parts below 1 count as 1.
func ByCount(n, parts int) []int {
	parts, n = max(parts, 1), max(n, 0)
	starts := make([]int, parts+1)
	for p := range starts {
		// ceil(p*n/parts)
		starts[p] = int((int64(p)*int64(n) + int64(parts) - 1) / int64(parts))
	}
	return starts
}

// ByWeight cuts the units of a curve, in order, into parts of about equal weight. The result has the same form as the result of
// ByCount. A unit belongs to the part that contains the middle of the unit's weight interval, so no part exceeds the mean by more
// than the heaviest unit. Negative, infinite and NaN weights count as 0. If all weights are 0, ByWeight returns the same cut as
// ByCount.
func ByWeight(w []float64, parts int) []int {
	parts = max(parts, 1)
	var peak float64
	for _, x := range w {
		peak = max(peak, sane(x))
	}
	if peak == 0 {
		return ByCount(len(w), parts)
	}
	// Scale the weights so that the sum cannot overflow.
	sum := make([]float64, len(w)+1)
	for i, x := range w {
		sum[i+1] = sum[i] + sane(x)/peak
	}
	total := sum[len(w)]
	starts := make([]int, parts+1)
	for p := 1; p < parts; p++ {
		bound := total * (float64(p) / float64(parts))
		starts[p] = starts[p-1] + sort.Search(len(w)-starts[p-1], func(k int) bool {
			i := starts[p-1] + k
			return (sum[i]+sum[i+1])/2 >= bound
		})
	}
	starts[parts] = len(w)
	return starts
}

func sane(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0
	}
	return x
}

// Owners returns the part of each unit of a cut. starts is a result of ByCount or ByWeight.
func Owners(starts []int) []int {
	owner := make([]int, starts[len(starts)-1])
	for p := range len(starts) - 1 {
		for i := starts[p]; i < starts[p+1]; i++ {
			owner[i] = p
		}
	}
	return owner
}
