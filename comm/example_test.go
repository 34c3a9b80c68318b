package comm_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"blobio/comm"
)

// Four ranks are goroutines of this process. They compute the offsets of their elements in a common
// array.
func Example() {
	err := comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		n := int64(10 * (c.Rank() + 1)) // number of elements of this rank
		below, err := c.ExscanInt64(ctx, []int64{n}, comm.Sum)
		if err != nil {
			return err
		}
		first := below[0]
		total, err := comm.AllreduceOne(ctx, c, n, comm.Sum)
		if err != nil {
			return err
		}
		lines, err := c.Gather(ctx, 0, fmt.Appendf(nil, "elements %d to %d of %d", first, first+n-1, total))
		for rank, line := range lines { // nil except on rank 0
			fmt.Printf("rank %d: %s\n", rank, line)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// rank 0: elements 0 to 9 of 100
	// rank 1: elements 10 to 29 of 100
	// rank 2: elements 30 to 59 of 100
	// rank 3: elements 60 to 99 of 100
}

// One rank fails. Agree gives the error to all ranks. The ranks then continue together.
func ExampleAgree() {
	errDisk := errors.New("disk full")
	err := comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		var mine error
		if c.Rank() == 2 {
			mine = errDisk
		}
		agreed := comm.Agree(ctx, c, mine)
		if !errors.Is(agreed, errDisk) {
			return fmt.Errorf("rank %d has no error", c.Rank())
		}
		if c.Rank() == 0 {
			fmt.Println("rank 0 sees:", agreed)
		}
		return c.Barrier(ctx) // the Comm is still usable
	})
	fmt.Println("run:", err)
	// Output:
	// rank 0 sees: rank 2: disk full
	// run: <nil>
}

// Each rank puts its number into the memory of rank 0, which does not participate.
func ExampleWindow() {
	err := comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		var local []byte
		if c.Rank() == 0 {
			local = make([]byte, c.Size())
		}
		w, err := c.NewWindow(ctx, local)
		if err != nil {
			return err
		}
		if err := w.Put(ctx, 0, int64(c.Rank()), []byte{byte(10 * c.Rank())}); err != nil {
			return err
		}
		if err := w.Fence(ctx); err != nil {
			return err
		}
		if c.Rank() == 3 {
			all := make([]byte, c.Size())
			if err := w.Get(ctx, 0, 0, all); err != nil {
				return err
			}
			fmt.Println("of the ranks:", all)
		}
		return w.Free(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: of the ranks: [0 10 20 30]
}
