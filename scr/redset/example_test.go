package redset_test

import (
	"context"
	"fmt"
	"log"

	"blobio/comm"
	"blobio/scr/redset"
)

// Eight ranks on four nodes form sets of four. No two ranks of a set are on one node, so that
// each set can rebuild the files of a lost node.
func Example() {
	err := comm.Run(context.Background(), 8, nil, func(ctx context.Context, c comm.Comm) error {
		node := fmt.Sprintf("node%d", c.Rank()/2)
		s, err := redset.New(ctx, c, redset.Options{Scheme: redset.XOR, Group: node, SetSize: 4})
		if err != nil {
			return err
		}
		if c.Rank() == 5 {
			p := s.Place()
			fmt.Printf("rank 5: %v, set %d of %d, with ranks %v\n", s.Scheme(), p.Set, p.Sets, p.Ranks)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// rank 5: XOR, set 1 of 2, with ranks [1 3 5 7]
}

// Form computes the sets without communication.
func ExampleForm() {
	nodes := []string{"a", "a", "b", "b", "c", "c"}
	for rank, p := range redset.Form(redset.Partner, nodes, 3) {
		if p.Rank == 0 {
			fmt.Printf("set %d: %v, first on node %s\n", p.Set, p.Ranks, nodes[rank])
		}
	}
	// Output:
	// set 0: [0 2 4], first on node a
	// set 1: [1 3 5], first on node a
}
