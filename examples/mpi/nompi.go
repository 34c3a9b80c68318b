//go:build !mpi || !cgo

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this program needs cgo and the tag mpi: go build -tags mpi ./examples/mpi")
	os.Exit(2)
}
