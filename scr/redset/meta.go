package redset

import "blobio/internal/vfs"

// Meta is what a header keeps of a file besides its bytes.
type Meta = vfs.Meta
