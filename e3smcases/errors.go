package e3smcases

import "blobio/internal/fault"

// pkg makes the errors of this package.
const pkg fault.Pkg = "e3smcases"
