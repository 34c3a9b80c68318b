package amrplot_test

import (
	"bytes"
	"fmt"
	"log"

	"blobio/amr"
	"blobio/internal/plot/amrplot"
)

// The leaf blocks of a tree along the Hilbert curve.
func ExampleDraw() {
	t, err := amr.NewRootTree(&amr.Geometry{Rank: 2, Roots: [3]int{2, 2, 1}, Block: [3]int{8, 8, 1}, Upper: [3]float64{1, 1, 1}, MaxLevel: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Refine(amr.At(0, [3]int{1, 0})); err != nil {
		log.Fatal(err)
	}
	p, err := amrplot.Draw(t.Geometry(), amr.Hilbert{}.Order(t), nil)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := p.SVG(&file); err != nil {
		log.Fatal(err)
	}
	drawn, leaves := p.Blocks()
	fmt.Println(drawn, "of", leaves, "leaf blocks;", bytes.Contains(file.Bytes(), []byte("<svg")))
	// Output: 7 of 7 leaf blocks; true
}
