package sfc_test

import (
	"fmt"
	"slices"

	"blobio/internal/amr/sfc"
)

// The cells of a 4 x 4 grid are ordered on a Hilbert curve and cut into three compact parts of equal weight.
func Example() {
	const bits = 2 // bits of a coordinate: 4 cells per axis
	var cells [][3]uint32
	for y := range uint32(1 << bits) {
		for x := range uint32(1 << bits) {
			cells = append(cells, [3]uint32{x, y})
		}
	}
	slices.SortFunc(cells, func(a, b [3]uint32) int {
		return sfc.Hilbert(2, bits, a).Compare(sfc.Hilbert(2, bits, b))
	})
	weights := make([]float64, len(cells))
	for i, c := range cells {
		weights[i] = 1
		if c[1] == 0 { // the lowest row has a higher weight
			weights[i] = 3
		}
	}
	starts := sfc.ByWeight(weights, 3)
	owner := sfc.Owners(starts)
	fmt.Println("starts:", starts)

	var part [4][4]int
	for i, c := range cells {
		part[c[1]][c[0]] = owner[i]
	}
	for y := 3; y >= 0; y-- {
		fmt.Println(part[y])
	}
	q := sfc.Measure(weights, owner, 3)
	fmt.Printf("heaviest %g, mean %g\n", q.Max, q.Mean)
	// Output:
	// starts: [0 4 8 16]
	// [2 2 2 2]
	// [2 2 2 2]
	// [0 0 1 1]
	// [0 0 1 1]
	// heaviest 8, mean 8
}
