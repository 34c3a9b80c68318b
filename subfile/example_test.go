package subfile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/subfile"
)

// write makes a dataset of two subfiles with one variable and no map.
func write(base string) error {
	return comm.Run(context.Background(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		v := s.Var("level", cdf5.Double, []blob.DimID{s.Dim("lev", 3)})
		w, err := blob.Create(ctx, c, base, s, nil, &blob.Options{Grouping: blob.Blocks, Subfiles: 2})
		if err != nil {
			return err
		}
		if err := blob.Put(w, v, 0, []float64{1000, 850, 500}); err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	})
}

// The manifest lists the files of a dataset.
func Example() {
	dir, err := os.MkdirTemp("", "subfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := write(filepath.Join(dir, "F_h0.nc")); err != nil {
		log.Fatal(err)
	}
	set, err := subfile.Find(nil, dir)
	if err != nil {
		log.Fatal(err)
	}
	st, err := subfile.ReadState(nil, set.Base)
	if err != nil {
		log.Fatal(err)
	}
	m := st.Manifest // nil if another program wrote the dataset
	fmt.Println(m.Layout, "of", m.Ranks, "ranks")
	for _, s := range m.Sets {
		for i, f := range s.Subfiles {
			fmt.Println(subfile.Name(s.Base, i), "has checksums:", len(f.Extents) > 0)
		}
	}
	// Output:
	// variable-centric of 4 ranks
	// F_h0.nc.0000 has checksums: true
	// F_h0.nc.0001 has checksums: true
}

// The name of a subfile contains the name of its dataset.
func ExampleSplit() {
	for _, name := range []string{"run/F_h0.nc.0012", "run/F_h0.nc"} {
		base, i, ok := subfile.Split(name)
		fmt.Println(base, i, ok)
	}
	fmt.Println(subfile.Base("run/F_h0.nc.manifest"))
	// Output:
	// run/F_h0.nc 12 true
	//  0 false
	// run/F_h0.nc
}
