package plotfile_test

import (
	"context"
	"fmt"

	"blobio/amr/plotfile"
)

// A plotfile is opened, and a field of a grid is read.
func Example() {
	ctx := context.Background()
	p, err := plotfile.Open(ctx, "../../testdata/plotfile/plt00002", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for l := range p.Levels {
		fmt.Printf("level %d: %d grids\n", l, len(p.Levels[l].Grids))
	}
	typ, data, err := p.Read(ctx, 1, 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Fields[0], typ, len(data)/typ.Size(), "cells")
	// Output:
	// level 0: 4 grids
	// level 1: 4 grids
	// phi float64 64 cells
}
