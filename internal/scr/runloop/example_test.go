//go:build unix

package runloop_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runloop"
)

// A program runs on two nodes out of three, which are directories of this host. In its first run a node is lost; the
// second run has the spare node in its place, and ends well.
func ExampleRun() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Mkdir(tmp+"/prefix", 0o700); err != nil {
		log.Fatal(err)
	}
	const program = `if [ $BLOBIO_RUN = 1 ] && [ $BLOBIO_RANK = 1 ]; then /bin/rm -r "$BLOBIO_NODE_DIR"; exit 3; fi`
	nodes := []string{"n1", "n2", "n3"}
	local := &runloop.Local{Root: tmp + "/nodes"}
	if err := local.Prepare(nodes); err != nil {
		log.Fatal(err)
	}
	rep, err := runloop.Run(context.Background(), runloop.Options{
		Launcher: local,
		Launch:   runloop.Launch{Args: []string{"/bin/sh", "-c", program}, PerNode: 1},
		Nodes:    nodes,
		Use:      2,
		MinNodes: 2,
		Dir:      prefixdir.Open(nil, tmp+"/prefix"),
		Checker:  &runloop.Checker{Tests: []runloop.NodeTest{runloop.Echo(&runloop.Here{Local: local})}},
		Runs:     3,
		Pause:    -1, // none
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range rep.Runs {
		fmt.Printf("run %d on %v: exit code %d\n", r.Run, r.Nodes, r.Exit.Code)
	}
	fmt.Println("down:", rep.Down[0].Node)
	fmt.Println("stop:", rep.Stop)
	// Output:
	// run 1 on [n1 n2]: exit code 3
	// run 2 on [n1 n3]: exit code 0
	// down: n2
	// stop: done
}
