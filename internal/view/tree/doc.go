// Package tree shows what lies below a directory: folders, plain files, and each dataset of blobs as one netCDF file under its base
// name, whose subfiles, manifest and lease are not seen. Beside the directory of a checkpoint of Cello, or of an array with versions, its netCDF form
// is shown as one file, DIR.nc. Programs that show datasets to others (mount, serve) are built on it.
//
//	Open                 a Tree over a directory; paths cannot escape it
//	Names, Lookup        entries, with kinds, sizes, times and identities
//	Tree.Dataset         a dataset to read from: its Reader, and the bytes of the netCDF file
//	Tree.File            a plain file to read from
//
// Paths are relative to the root, with slashes; "" is the root. A path that leads out of the root (by a symbolic link or "..") is
// fs.ErrNotExist. Links within the root are followed, except a link to a directory above itself, so that a walk ends.
//
// Answers describe the files at that moment: a dataset that is committed appears, one that is replaced has another Entry.ID, one that is
// removed disappears. A Dataset that is held keeps its content, or gives an error; never bytes of another state.
//
// Readers are shared: all holders of the same state of a dataset have the same one. A Reader that nobody holds is kept for a while, and
// closed when there are too many. Options bound their number, their memory and their open files.
//
// A dataset has a manifest, or its subfile 0 is one of blobs. If there is a file or a folder under the base name, that is what the name means,
// and the subfiles are plain files. So are files that only are called as subfiles are. A file of the name DIR.nc hides the netCDF form of DIR.
//
// Read first: tree.go, entry.go, dataset.go.
package tree
