package subfile_test

import (
	"context"
	"fmt"
	"log"

	"blobio/comm"
	"blobio/subfile"
)

// Six ranks are dealt to two subfiles.
func Example() {
	err := comm.Run(context.Background(), 6, nil, func(ctx context.Context, c comm.Comm) error {
		g, err := subfile.Assign(ctx, c, subfile.RoundRobin, 2)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("rank %d: %s, blob %d", c.Rank(), subfile.Name("F_h0.nc", g.Index), g.Comm.Rank())
		lines, err := c.Gather(ctx, 0, []byte(line))
		for _, l := range lines {
			fmt.Println(string(l))
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// rank 0: F_h0.nc.0000, blob 0
	// rank 1: F_h0.nc.0001, blob 0
	// rank 2: F_h0.nc.0000, blob 1
	// rank 3: F_h0.nc.0001, blob 1
	// rank 4: F_h0.nc.0000, blob 2
	// rank 5: F_h0.nc.0001, blob 2
}

// The name of a subfile contains the name of its dataset.
func ExampleSplit() {
	for _, name := range []string{"run/F_h0.nc.0012", "run/F_h0.nc"} {
		base, i, ok := subfile.Split(name)
		fmt.Println(base, i, ok)
	}
	fmt.Println(subfile.Base("run/F_h0.nc.manifest"))
	// Output:
	// run/F_h0.nc 12 true
	//  0 false
	// run/F_h0.nc
}
