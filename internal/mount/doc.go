// Package mount shows the datasets below a directory as files, to programs that know nothing of blobs: a file system over FUSE, for reading
// only, in which each dataset is one ordinary netCDF file under its base name. Its bytes are those that blob.Convert would write,
// computed when they are read.
//
//	New               mounts; the programs of the machine read from then on
//	Mount.Wait        until somebody unmounts
//	Mount.Unmount     ends it
//
// What is open stays what it was while the dataset is replaced or removed, or reading it is an error (EIO); never bytes of another. A dataset that is
// committed or removed meanwhile appears or goes within a second.
//
// It needs 64-bit Linux with /dev/fuse, and for users other than root fusermount3.
package mount
