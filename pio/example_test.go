package pio_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/pio"
)

// Four ranks write two records of a field, each rank its own columns. Then two ranks read the second record with another
// decomposition.
func Example() {
	dir, err := os.MkdirTemp("", "pio")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "history.nc")

	err = comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := pio.NewSystem(ctx, c, nil)
		if err != nil {
			return err
		}
		f, err := s.Create(ctx, path, nil)
		if err != nil {
			return err
		}
		time, err := f.DefDim("time", pio.Unlimited)
		if err != nil {
			return err
		}
		ncol, err := f.DefDim("ncol", 8)
		if err != nil {
			return err
		}
		t, err := f.DefVar("T", cdf5.Double, []int{time, ncol})
		if err != nil {
			return err
		}
		if err := f.PutAtt(t, "units", cdf5.Char, pio.Text("K")); err != nil {
			return err
		}
		if err := f.EndDef(); err != nil {
			return err
		}
		// Rank r has columns r+1 and r+5, counted from 1.
		r := int64(c.Rank())
		d, err := s.InitDecomp(ctx, cdf5.Double, []int64{8}, []int64{r + 1, r + 5}, false)
		if err != nil {
			return err
		}
		for frame := range int64(2) {
			if err := f.SetFrame(t, frame); err != nil {
				return err
			}
			if err := f.WriteDarray(ctx, t, d, []float64{float64(100*frame + r + 1), float64(100*frame + r + 5)}, nil); err != nil {
				return err
			}
		}
		return f.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}

	var out [2][]float64
	err = comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := pio.NewSystem(ctx, c, nil)
		if err != nil {
			return err
		}
		f, err := s.Open(ctx, path, nil)
		if err != nil {
			return err
		}
		d, err := s.InitDecompBlock(ctx, cdf5.Double, []int64{8}, []int64{4 * int64(c.Rank())}, []int64{4})
		if err != nil {
			return err
		}
		t, err := f.VarID("T")
		if err != nil {
			return err
		}
		if err := f.SetFrame(t, 1); err != nil {
			return err
		}
		into := make([]float64, 4)
		if err := f.ReadDarray(ctx, t, d, into); err != nil {
			return err
		}
		out[c.Rank()] = into
		return f.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out)
	// Output:
	// [[101 102 103 104] [105 106 107 108]]
}
