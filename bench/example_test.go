package bench_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"blobio/bench"
	"blobio/blob"
	"blobio/decomp"
)

// Four ranks write a history file of the atmosphere on a small grid, read it back and verify it.
func ExampleReplay() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	columns := decomp.Regular([]int64{218}, 4)
	maps := []*decomp.Map{columns, columns, decomp.Regular([]int64{4, 218}, 4)} // D3 is levels x columns
	res, err := bench.Replay(context.Background(), bench.ReplayOptions{Case: "F_h1", Maps: maps, Dir: tmp, Verify: true,
		Layouts: []blob.Layout{blob.VariableCentric}})
	if err != nil {
		log.Fatal(err)
	}
	r := res[0]
	fmt.Println(r.Case, r.Layout, r.Vars, "variables,", r.Verified > 0)
	// Output: F_h1 variable-centric 51 variables, true
}
