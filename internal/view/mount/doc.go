// Package mount shows the datasets below a directory as ordinary files: a read-only FUSE file system in which each dataset is one
// netCDF file under its base name. The bytes of this file equal the output of blob.Convert. They are computed when they are read.
//
//	New               mounts; other programs can then read
//	Mount.Wait        waits until somebody unmounts
//	Mount.Unmount     unmounts
//
// An open file grows with the commits of its writer. If the dataset is replaced or removed, the open file keeps its content, or
// reads return EIO. A read never mixes the bytes of two states. A committed or removed dataset appears or disappears within a
// second.
//
// Package mount requires 64-bit Linux with /dev/fuse, and fusermount3 for users other than root.
//
// Read first: mount.go, file.go.
package mount

// Changes of a file.
//
// A state is identified by a hash of its manifest, and has its own inode, because the kernel caches sizes and mapped pages by
// inode. If a state is not current any more, opening it returns ESTALE, and the kernel looks up the name again.
//
// The states that one writer commits form a line with one inode. The netCDF file of each state begins with the bytes of the
// previous state, except for the number of records. An open file grows along its line. Its size and the state for reads change
// together, when the kernel asks for attributes or reads. Any other change of the header, an append or a replacement begins
// another line.
//
// A read returns all requested bytes or an error: netCDF-C treats a short answer as the end of the file and appends zeros. So
// reads of datasets bypass the kernel's cache (FOPEN_DIRECT_IO), because the cache would return the pages before the damage.
