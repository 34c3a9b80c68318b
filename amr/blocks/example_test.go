package blocks_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/amr"
	"blobio/amr/blocks"
	"blobio/comm"
)

// Two ranks write the blocks of a tree of four, each two of them. The dataset is one netCDF file, from which any block can be read.
func Example() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	name := filepath.Join(tmp, "mesh.nc")
	m := &amr.Meta{
		Geometry: amr.Geometry{Rank: 2, Roots: [3]int{2, 2, 1}, Block: [3]int{4, 4, 1}, Upper: [3]float64{1, 1, 1}},
		Fields:   []amr.FieldSpec{{Name: "density", Type: amr.Float32}},
	}
	err = comm.Run(context.Background(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		var mine []*amr.Block
		for x := range 2 {
			cells := make([]float32, 4*4)
			for i := range cells {
				cells[i] = float32(10*c.Rank() + x)
			}
			data, err := binary.Append(nil, binary.NativeEndian, cells)
			if err != nil {
				return err
			}
			mine = append(mine, &amr.Block{Index: amr.At(0, [3]int{x, c.Rank()}), Leaf: true,
				Fields: []amr.Field{{Spec: &m.Fields[0], Data: data}}})
		}
		return blocks.Write(ctx, c, name, m, mine, &blocks.Options{Ordering: amr.Morton{}})
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	d, err := blocks.Open(ctx, name, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	for i, info := range d.Blocks() {
		b, err := d.Block(ctx, i)
		if err != nil {
			log.Fatal(err)
		}
		var first float32
		if _, err := binary.Decode(b.Field("density").Data, binary.NativeEndian, &first); err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Index.Coord(), first)
	}
	for f := range blocks.Check(ctx, name, nil) {
		fmt.Println(f) // nothing is wrong
	}
	// Output:
	// [0 0 0] 0
	// [1 0 0] 1
	// [0 1 0] 10
	// [1 1 0] 11
}
