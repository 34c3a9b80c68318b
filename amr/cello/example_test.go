package cello_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/amr/cello"
	"blobio/comm"
)

// Open a checkpoint of Enzo-E and read one block.
func ExampleOpen() {
	ctx := context.Background()
	k, err := cello.Open(ctx, "../../testdata/cello/CheckA-10", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer k.Close()
	m := k.Meta()
	lo, hi := k.Tree().Levels()
	fmt.Printf("cycle %d, %d dimensions, %d blocks of levels %d to %d in %d files\n",
		m.Cycle, m.Rank, len(k.Blocks()), lo, hi, len(k.Files()))
	b, err := k.Block(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(k.Blocks()[0].Name, b.Fields[0].Spec.Name, len(b.Fields[0].Data), "bytes")
	// Output:
	// cycle 10, 2 dimensions, 101 blocks of levels -2 to 2 in 3 files
	// B_ density 2048 bytes
}

// Three ranks rewrite the same checkpoint into other files. The new checkpoint has checksums, and Verify checks it.
func ExampleWriteFrom() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "Check-10")
	err = comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		k, err := cello.OpenComm(ctx, c, "../../testdata/cello/CheckA-10", nil)
		if err != nil {
			return err
		}
		defer k.Close()
		return cello.WriteFrom(ctx, c, dir, k.Meta(), k.Share(c.Rank(), c.Size()), &cello.Options{Files: 2})
	})
	if err != nil {
		log.Fatal(err)
	}
	errors := 0
	for f := range cello.Verify(context.Background(), dir, nil) {
		if f.Severity >= cello.Error {
			fmt.Println(f)
			errors++
		}
	}
	fmt.Println("errors:", errors)
	// Output: errors: 0
}
