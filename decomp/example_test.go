package decomp_test

import (
	"fmt"
	"log"

	"blobio/decomp"
)

// Two ranks share an array of 2 levels x 6 columns. Rank 0 owns the even columns. Rank 1 owns the odd columns except the
// last.
func Example() {
	const lev, ncol = 2, 6
	b := decomp.NewBuilder([]int64{lev, ncol}, 2)
	for rank := range 2 {
		var reqs []decomp.Req
		for k := range int64(lev) {
			for i := int64(rank); i < ncol-1; i += 2 {
				reqs = append(reqs, decomp.Req{Offset: k*ncol + i, Length: 1})
			}
		}
		if err := b.Set(rank, reqs); err != nil {
			log.Fatal(err)
		}
	}
	m, err := b.Map()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("elements:", m.Count(0), m.Count(1))

	cov, err := m.Coverage()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("covered: %d of %d, first gap at %d\n", cov.Covered, cov.Elems, cov.Gaps[0].Off)

	ix, err := m.Index()
	if err != nil {
		log.Fatal(err)
	}
	o, _ := ix.At(9) // level 1, column 3
	fmt.Printf("element 9: rank %d, element %d of its blob\n", o.Rank, o.Pos)
	// Output:
	// elements: 6 4
	// covered: 10 of 12, first gap at 5
	// element 9: rank 1, element 3 of its blob
}

// The program puts the blobs of all ranks in canonical order. Elements are one byte each.
func ExampleMap_Scatter() {
	m := decomp.Regular([]int64{2, 4}, 3) // equal parts: 3, 3 and 2 elements
	canonical := make([]byte, m.Elems())
	for rank, blob := range []string{"abc", "def", "gh"} {
		m.Scatter(canonical, 0, []byte(blob), 0, rank, 1)
	}
	fmt.Println(string(canonical))
	for r := range m.Reqs(1) {
		fmt.Println("rank 1:", r.Offset, r.Length) // requests end at the end of a row
	}
	// Output:
	// abcdefgh
	// rank 1: 3 1
	// rank 1: 4 2
}
