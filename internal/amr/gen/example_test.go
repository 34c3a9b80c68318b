package gen_test

import (
	"fmt"
	"log"

	"blobio/amr"
	"blobio/internal/amr/gen"
)

// A tree that is refined inside of a sphere, with data for a test; a block that was read back can be compared with the set.
func Example() {
	g := gen.Geometry(3, 2, 8, 0, 2)
	t, err := gen.Sphere(&g, [3]float64{0.5, 0.5, 0.5}, 0.2)
	if err != nil {
		log.Fatal(err)
	}
	s := gen.NewSet(t, 1, gen.Fields(2, amr.Float64), nil)
	blocks := t.Sorted()
	b := s.Block(blocks[len(blocks)-1])
	fmt.Println(len(blocks), "blocks;", b.Fields[0].Spec.Name, len(b.Fields[0].Data), "bytes;", s.Check(b, false))
	b.Fields[1].Data[7] ^= 1
	fmt.Println("found:", s.Check(b, false) != nil)
	// Output:
	// 137 blocks; density 4096 bytes; <nil>
	// found: true
}
