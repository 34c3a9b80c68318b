package kvcomm_test

import (
	"context"
	"fmt"
	"log"

	"blobio/comm"
	"blobio/internal/scr/kvcomm"
	"blobio/scr/kvtree"
)

// Each rank sends a tree to its right neighbour, and finds out who has sent to it.
func ExampleExchange() {
	err := comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		send := kvtree.New()
		send.Touch(fmt.Sprint((c.Rank()+1)%c.Size()), "FILES", fmt.Sprint(c.Rank()*10))
		got, err := kvcomm.Exchange(ctx, c, send, nil)
		if err != nil {
			return err
		}
		if c.Rank() == 2 {
			for from, t := range got.All() {
				n, err := t.Value("FILES").Int()
				fmt.Println("from rank", from, n, err)
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: from rank 1 10 <nil>
}
