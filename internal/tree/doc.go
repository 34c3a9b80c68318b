// Package tree shows what lies below a directory: folders, plain files, and each dataset of blobs as one netCDF file under its base
// name, whose subfiles, manifest and lease are not seen. Beside the directory of a checkpoint of Cello, or of an array with versions, its netCDF form
// is shown as one file, DIR.nc. Programs that show datasets to others (mount, serve) are built on it.
//
//	Open                 a Tree over a directory, which is never left
//	List, Names, Lookup  what there is: kinds, sizes, times, identities
//	Tree.Dataset         a dataset to read from: its Reader, and the bytes of the netCDF file
//	Tree.File            a plain file to read from
//
// Paths are relative to the root, with slashes; "" is the root. A path that leads out of the root (a symbolic link, "..") is one of
// nothing: fs.ErrNotExist. Links to what is in the root are followed; one to a directory that it lies in is not shown, so that a walk ends.
//
// What is asked is answered from the files as they are at that moment: a dataset that is committed appears, one that is replaced has another
// Entry.ID, one that is removed goes. Who holds a Dataset keeps what it was, or gets an error; never bytes of another.
//
// Readers are shared: all who hold the same state of a dataset have the same one. One that nobody holds is kept for a while, and closed
// when there are too many. Options bound their number, their memory and their open files.
//
// A dataset has a manifest, or its subfile 0 is one of blobs. If there is a file or a folder under the base name, that is what the name means,
// and the subfiles are plain files. So are files that only are called as subfiles are. What has the name DIR.nc itself hides the netCDF form of DIR.
package tree
