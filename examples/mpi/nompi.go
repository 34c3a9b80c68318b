//go:build !mpi || !cgo

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "build this with cgo and the tag mpi: go build -tags mpi ./examples/mpi")
	os.Exit(2)
}
