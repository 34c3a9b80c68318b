package netcdf

import "blobio/internal/fault"

// pkg makes the errors of this package.
const pkg fault.Pkg = "netcdf"
