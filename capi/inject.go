//go:build cgo && unix && inject

package main

import (
	"fmt"
	"os"

	"blobio/comm"
)

// inject panics on one rank if BLOBIO_INJECT is step:rank. Only tests use it, with the build tag
// inject.
func inject(step string, c comm.Comm) {
	if os.Getenv("BLOBIO_INJECT") == fmt.Sprintf("%s:%d", step, c.Rank()) {
		panic("injected into " + step)
	}
}
