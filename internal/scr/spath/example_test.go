package spath_test

import (
	"fmt"

	"blobio/internal/scr/spath"
)

func Example() {
	rel, err := spath.Relative("/p/sim/step10", "/p/sim/input/mesh")
	fmt.Println(rel, err)
	fmt.Println(spath.IsChild("/p/sim", "/p/sim/../other"))
	// Output:
	// ../input/mesh <nil>
	// false
}
