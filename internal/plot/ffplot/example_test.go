package ffplot_test

import (
	"fmt"
	"log"
	"os"

	"blobio/ffformat"
	"blobio/internal/plot/ffplot"
)

// Where the variables of a checkpoint lie in its file.
func ExampleText() {
	f, err := os.Open("../../../testdata/fti/tiny/v1.6/l1/cp3__node0-Ckpt3-Rank0.fti")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	meta, err := ffformat.Decode(f, info.Size(), f.Name(), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := ffplot.Text(os.Stdout, meta, &ffplot.TextOptions{Columns: 40, Lines: 2}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(meta.Vars()), "variables")
	// Output:
	// map: a character is 128 B, # metadata
	//   0x0000  1112222223333333333444444444444222222222
	//   0x1400  2222333333333333####
	// 4 variables
}
