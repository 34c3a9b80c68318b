package layout

import "blobio/internal/fault"

// pkg makes errors of package blob, whose files these are.
const pkg fault.Pkg = "blob"
