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
//
// Read first: mount.go, file.go.
package mount

// How a file changes.
//
// A state is identified by a hash of its manifest, and has its own inode, since the kernel caches sizes and mapped pages by inode. Opening a state
// that is no longer current is ESTALE, and the kernel looks the name up again.
//
// The states that one writer commits form a line with one inode: as netCDF files, each begins with the bytes of the one before, except for the number
// of records. An open file grows along its line; the size and the state that answers reads change together, when the kernel asks for attributes or
// reads. Any other change of the header, an append or a replacement begins another line.
//
// A read is answered completely or is an error: netCDF-C takes a short answer for the end of the file and fills up with zeros. So reads of datasets go
// past the kernel's cache (FOPEN_DIRECT_IO), from which a program would get the pages before the damage.
