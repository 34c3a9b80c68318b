package hostlist_test

import (
	"fmt"
	"log"

	"blobio/internal/scr/hostlist"
)

// A list of a resource manager is expanded, a node that is down taken out, and the rest compressed again.
func Example() {
	nodes, err := hostlist.Expand("atlas[3,5-7]")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(nodes)
	up := hostlist.Diff(nodes, []string{"atlas6"})
	fmt.Println(hostlist.Compress(up))
	// Output:
	// [atlas3 atlas5 atlas6 atlas7]
	// atlas[3,5,7]
}
