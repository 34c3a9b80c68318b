//go:build mpi && cgo

package mpi

import "blobio/internal/fault"

// pkg makes the errors of this package.
const pkg fault.Pkg = "mpi"
