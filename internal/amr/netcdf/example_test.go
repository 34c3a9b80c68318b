package netcdf_test

import (
	"context"
	"fmt"
	"log"

	"blobio/amr/cello"
	"blobio/internal/amr/netcdf"
)

// Read a checkpoint of Enzo-E as a netCDF file without writing the file. Any part can be read.
func Example() {
	ctx := context.Background()
	k, err := cello.Open(ctx, "../../../testdata/cello/CheckA-10", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer k.Close()
	f, err := netcdf.New(ctx, k, &netcdf.Part{Fields: []string{"density"}}, 0)
	if err != nil {
		log.Fatal(err)
	}
	magic := make([]byte, 3)
	if _, err := f.ReadAt(magic, 0); err != nil {
		log.Fatal(err)
	}
	h := f.Header()
	fmt.Printf("%s, %s %d\n", magic, h.Dims[0].Name, h.Dims[0].Len)
	fmt.Println(h.VarIndex("field_density") > 0, h.VarIndex("field_velocity_x") > 0)
	// Output:
	// CDF, block 101
	// true false
}
