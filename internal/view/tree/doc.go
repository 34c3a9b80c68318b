// Package tree presents the content of a directory: folders, plain files, and each blob dataset as one netCDF file under its base
// name. The dataset's subfiles, manifest and lease are hidden. Beside the directory DIR of a Cello checkpoint, or of an array
// with versions, the tree shows a file DIR.nc, the netCDF form of the directory. Packages mount and serve use tree.
//
//	Open                 a Tree over a directory; paths cannot escape it
//	Names, Lookup        entries, with kinds, sizes, times and identities
//	Tree.Dataset         a dataset to read from: its Reader, and the bytes of the netCDF file
//	Tree.File            a plain file to read from
//
// Paths are relative to the root, with slashes; "" is the root. A path that leads out of the root (by a symbolic link or "..") is
// fs.ErrNotExist. Links within the root are followed, except a link to a directory above itself, so that every walk ends.
//
// Results describe the present files: a committed dataset appears, a replaced dataset gets another Entry.ID, and a removed
// dataset disappears. A held Dataset keeps its content or gives an error, and never returns bytes of another state.
//
// All holders of the same state of a dataset share one Reader. A Reader that is not held is cached for a while, and is closed
// earlier if too many Readers are cached. Options limit the number of Readers, their memory and their open files.
//
// A set of files is a dataset if it has a manifest, or if its subfile 0 is a blob file. An existing file or folder with the base
// name takes precedence, and the subfiles are then plain files. Other files with names of subfiles are plain files too. An
// existing file DIR.nc hides the netCDF form of DIR.
//
// Read first: tree.go, entry.go, dataset.go.
package tree
