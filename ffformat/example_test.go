package ffformat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"blobio/ffformat"
)

const checkpoint = "../testdata/fti/tiny/v1.6/l1/cp3__node0-Ckpt3-Rank0.fti"

// Open a checkpoint of FTI, and read and verify its variables.
func Example() {
	f, err := os.Open(checkpoint)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	r, err := ffformat.NewReader(f, info.Size(), f.Name(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("layout %v, checkpoint %d\n", r.File().Layout, r.File().FB.CkptID)
	for _, v := range r.File().Vars() {
		data := make([]byte, v.Size)
		if err := r.ReadVar(context.Background(), v.ID, data); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("variable %d: %d bytes in %d containers\n", v.ID, v.Size, v.Containers)
	}
	// Output:
	// layout E, checkpoint 3
	// variable 1: 400 bytes in 1 containers
	// variable 2: 2400 bytes in 2 containers
	// variable 3: 2800 bytes in 2 containers
	// variable 4: 1600 bytes in 1 containers
}

// Change one byte of a variable. Check finds the damage, and Repair reports which variables it would
// save.
func ExampleCheck() {
	b, err := os.ReadFile(checkpoint)
	if err != nil {
		log.Fatal(err)
	}
	b[100] ^= 1
	ctx, r, size := context.Background(), bytes.NewReader(b), int64(len(b))
	for f := range ffformat.Check(ctx, r, size, "Ckpt3-Rank0.fti", nil) {
		if f.Severity >= ffformat.Error {
			fmt.Println("at", f.Offset, errors.Is(f.Err, ffformat.ErrChecksum))
		}
	}
	rep, err := ffformat.Repair(ctx, r, size, "Ckpt3-Rank0.fti", nil, &ffformat.Options{DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("good:", rep.Good)
	for _, v := range rep.Bad {
		fmt.Printf("%s: variable %d, %d bytes\n", v.Fate, v.ID, v.Bytes)
	}
	// Output:
	// at 0 true
	// good: [2 3 4]
	// dropped: variable 1, 400 bytes
}
