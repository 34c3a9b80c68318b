// Package mount shows the datasets below a directory as ordinary files: a read-only FUSE file system in which each dataset is one netCDF
// file under its base name. Its bytes are those that blob.Convert would write, computed when they are read.
//
//	New               mounts; from then on the programs of the machine can read
//	Mount.Wait        until somebody unmounts
//	Mount.Unmount     ends it
//
// An open file grows with the commits of its writer. While the dataset is replaced or removed it keeps its content, or reading it is an error (EIO); bytes of two states never mix.
// A dataset that is committed or removed appears or disappears within a second.
//
// Needed are 64-bit Linux with /dev/fuse, and fusermount3 for users other than root.
package mount
