//go:build !(mpi && cgo)

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "speed needs MPI: build it with CGO_ENABLED=1 and -tags mpi")
	os.Exit(2)
}
