package bench_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"blobio/bench"
	"blobio/blob"
	"blobio/e3smcases"
)

// The history file of the ocean, on a small mesh, is written by four ranks, read back and verified.
func ExampleReplay() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	maps, err := e3smcases.G{Cells: 162, Levels: 3, Ranks: 4}.Maps()
	if err != nil {
		log.Fatal(err)
	}
	res, err := bench.Replay(context.Background(), bench.ReplayOptions{Case: "G", Maps: maps, Dir: tmp, Verify: true,
		Layouts: []blob.Layout{blob.VariableCentric}})
	if err != nil {
		log.Fatal(err)
	}
	r := res[0]
	fmt.Println(r.Case, r.Layout, r.Vars, "variables,", r.Verified > 0)
	// Output: G variable-centric 52 variables, true
}
