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
	if err := ffplot.Text(os.Stdout, meta, 40); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(meta.Vars()), "variables")
	// Output:
	// map: a character is 16 B, # metadata
	//   0x0000  1111111111111111111111111222222222222222
	//   0x0280  2222222222222222222222222222222222233333
	//   0x0500  3333333333333333333333333333333333333333
	//   0x0780  3333333333333333333333333333334444444444
	//   0x0a00  4444444444444444444444444444444444444444
	//   0x0c80  4444444444444444444444444444444444444444
	//   0x0f00  4444444444222222222222222222222222222222
	//   0x1180  2222222222222222222222222222222222222222
	//   0x1400  2222222222222222222222222222223333333333
	//   0x1680  3333333333333333333333333333333333333333
	//   0x1900  3333333333333333333333333333333333333333
	//   0x1b80  3333333333##########################
	// 4 variables
}
