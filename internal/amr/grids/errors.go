package grids

import "blobio/internal/fault"

var errCorrupt = fault.ErrCorrupt
