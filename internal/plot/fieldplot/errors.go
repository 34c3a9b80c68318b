package fieldplot

import "blobio/internal/fault"

// pkg makes the errors of this package.
const pkg fault.Pkg = "fieldplot"

// ErrUsage: an argument is wrong, or a variable cannot be drawn as is asked.
var ErrUsage = fault.ErrUsage
