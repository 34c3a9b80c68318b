// Package cf knows what the CF conventions say of the variables of a dataset: which are coordinates of which, which are times, and what a
// selection by the values of a coordinate takes.
package cf

import "blobio/internal/fault"

const pkg fault.Pkg = "cf"
