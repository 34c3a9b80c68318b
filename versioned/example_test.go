package versioned_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/comm"
	"blobio/versioned"
)

// Two ranks commit three versions of an array. They find that the last version is wrong, and restore
// the version before it.
func Example() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	err = comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := versioned.Create(ctx, c, &versioned.Store{Dir: tmp},
			versioned.Spec{Name: "heat", Type: versioned.TypeOf[float64](), Shape: []int64{4}}, nil)
		if err != nil {
			return err
		}
		lo := int64(2 * c.Rank())
		for step := 1; step <= 3; step++ {
			v := float64(10*step + c.Rank())
			if err := versioned.Put(ctx, a, []int64{lo}, []int64{lo + 2}, []float64{v, v}); err != nil {
				return err
			}
			if _, err := a.Inc(ctx, 1, fmt.Sprint("step ", step)); err != nil { // commits
				return err
			}
		}
		if err := a.Restore(ctx, 2); err != nil {
			return err
		}
		if c.Rank() == 1 {
			now, was := make([]float64, 4), make([]float64, 4)
			if err := versioned.Get(ctx, a, []int64{0}, []int64{4}, now); err != nil {
				return err
			}
			if err := versioned.GetAt(ctx, a, 1, []int64{0}, []int64{4}, was); err != nil {
				return err
			}
			fmt.Println("restored:", now, "version 1:", was)
		}
		return a.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}

	v, err := versioned.OpenView(filepath.Join(tmp, "heat"), nil, nil) // a View needs no ranks
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	for _, x := range v.Versions() {
		fmt.Printf("%d %q\n", x.Number, x.Label)
	}
	for f := range v.Check(context.Background(), nil) {
		fmt.Println(f) // there are no findings
	}
	// Output:
	// restored: [20 20 21 21] version 1: [10 10 11 11]
	// 0 ""
	// 1 "step 1"
	// 2 "step 2"
	// 3 "step 3"
}

// A later run on another number of ranks continues from the newest version.
func ExampleOpen() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	st := &versioned.Store{Dir: tmp}
	err = comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "hits", Type: versioned.TypeOf[int64](), Shape: []int64{3}}, nil)
		if err != nil {
			return err
		}
		if err := versioned.Put(ctx, a, []int64{int64(c.Rank())}, []int64{int64(c.Rank()) + 1}, []int64{int64(10 * c.Rank())}); err != nil {
			return err
		}
		if _, err := a.Inc(ctx, 1, ""); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	a, err := versioned.Open(ctx, comm.Self(), st, "hits", nil)
	if err != nil {
		log.Fatal(err)
	}
	hits := make([]int64, 3)
	if err := versioned.Get(ctx, a, []int64{0}, []int64{3}, hits); err != nil {
		log.Fatal(err)
	}
	fmt.Println("version", a.Newest(), "has", hits)
	if err := a.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: version 1 has [0 10 20]
}
