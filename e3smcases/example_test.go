package e3smcases_test

import (
	"fmt"
	"log"

	"blobio/e3smcases"
)

// The history file of the atmosphere on a small grid for four ranks: its contents, owners, and values.
func Example() {
	maps, err := e3smcases.F{Ne: 2, Levels: 8, Ranks: 4}.Maps()
	if err != nil {
		log.Fatal(err)
	}
	c, err := e3smcases.Load("F_h0")
	if err != nil {
		log.Fatal(err)
	}
	if c, err = c.WithMapDims(maps); err != nil {
		log.Fatal(err)
	}
	v := c.VarIndex("CLOUD")
	fmt.Printf("%d variables; %s is %v, map D%d\n", len(c.Vars), c.Vars[v].Name, c.Shape(v), c.Vars[v].Map)

	m := maps[c.Vars[v].Map-1]
	values, err := e3smcases.NewValues(c, e3smcases.Unique, false)
	if err != nil {
		log.Fatal(err)
	}
	data := make([]float64, m.Count(1)) // the data that rank 1 puts for record 0
	if err := values.Fill(data, v, 0, m.Reqs(1), 1); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rank 1 has %d of %d elements\n", len(data), m.Elems())

	if _, err := c.Schema(false); err != nil { // argument of blob.Create
		log.Fatal(err)
	}
	// Output:
	// 414 variables; CLOUD is [8 218], map D3
	// rank 1 has 448 of 1744 elements
}
