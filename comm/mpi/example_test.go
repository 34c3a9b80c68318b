//go:build mpi && cgo

package mpi_test

import (
	"context"
	"fmt"
	"log"

	"blobio/comm"
	"blobio/comm/mpi"
)

// mpirun starts this program once per rank. All ranks add a number, and rank 0 prints the sum.
func ExampleRun() {
	err := mpi.Run(context.Background(), nil, func(ctx context.Context, c comm.Comm) error {
		sum, err := comm.AllreduceOne(ctx, c, c.Rank()+1, comm.Sum)
		if err == nil && c.Rank() == 0 {
			fmt.Println(sum)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
