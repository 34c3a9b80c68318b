package amr_test

import (
	"fmt"
	"log"

	"blobio/internal/amr"
	"blobio/internal/amr/sfc"
)

// A quadtree of 2 x 2 root blocks is refined twice at a corner. This also refines a neighbour. Then the blocks are cut
// into three parts.
func Example() {
	t, err := amr.NewRootTree(&amr.Geometry{Rank: 2, Roots: [3]int{2, 2, 1}, Block: [3]int{8, 8, 1}, Upper: [3]float64{1, 1, 1}, MaxLevel: 3})
	if err != nil {
		log.Fatal(err)
	}
	corner := amr.At(0, [3]int{0, 0}) // the lower left root block
	if err := t.Refine(corner); err != nil {
		log.Fatal(err)
	}
	child := corner.Child([3]int{1, 1})
	n, err := t.RefineBalanced(child)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("refined", n, "blocks:", t.Len(), "in all")
	lo, hi := child.Bounds(t.Geometry())
	fmt.Println(t.Name(child), "from", lo[:2], "to", hi[:2])

	order := amr.Hilbert{}.Order(t)
	q := amr.Quality(t, order, sfc.Owners(sfc.ByCount(len(order), 3)), 3, nil)
	fmt.Printf("efficiency %.2f, %d of %d faces between parts\n", q.Eff, q.Surface, q.Faces)
	// Output:
	// refined 4 blocks: 24 in all
	// B0:1_0:1 from [0.25 0.25] to [0.5 0.5]
	// efficiency 1.00, 12 of 32 faces between parts
}

// Parse the name of a block in a Cello checkpoint and format it again.
func ExampleParseName() {
	roots := [3]int{4, 4, 1}
	x, rank, err := amr.ParseName("B01:1_10:0", roots, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rank, x.Level(), x.Coord(), x.Name(rank, roots))
	// Output: 2 1 [3 4 0] B01:1_10:0
}
