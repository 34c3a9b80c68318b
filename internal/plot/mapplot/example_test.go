package mapplot_test

import (
	"bytes"
	"fmt"
	"image/png"
	"log"

	"blobio/decomp"
	"blobio/internal/plot/mapplot"
)

// A picture of a map of 8 rows and 12 columns, cut into four parts.
func ExampleDraw() {
	p, err := mapplot.Draw(decomp.Regular([]int64{8, 12}, 4), &mapplot.Options{Title: "D1", Width: 360})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := p.PNG(&file); err != nil {
		log.Fatal(err)
	}
	c, err := png.DecodeConfig(&file)
	if err != nil {
		log.Fatal(err)
	}
	width, _ := p.Size()
	fmt.Println(width, "points,", c.Width, "pixels")
	// Output: 360 points, 720 pixels
}
