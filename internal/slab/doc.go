// Package slab selects parts of arrays: limits of dimensions as ncks writes them (-d lat,30.,60. -d time,0,9,3), the indices
// that they mean, and the runs of a canonical array that these are. It knows nothing of files.
package slab

import "blobio/internal/fault"

const pkg fault.Pkg = "slab"
