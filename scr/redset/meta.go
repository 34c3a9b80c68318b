package redset

import "blobio/internal/vfs"

// Meta is what a header keeps of a file besides its bytes.
type Meta = vfs.Meta

// MetaFS is what a vfs.FS may implement to keep the metadata of files, as that of the operating system does. Without
// it the size, permissions and modification time that Stat tells are recorded, and nothing
// but the bytes is restored.
type MetaFS = vfs.MetaFS
