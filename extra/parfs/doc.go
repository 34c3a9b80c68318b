// Package parfs holds tests only: they run blobio on parallel file systems, GlusterFS and MooseFS, of several servers and two clients on this
// machine. BLOBIO_PARFS=1 asks for them; they need Linux, root, /dev/fuse and Debian's packages of both.
//
// The test program starts itself again in namespaces of its own (network, mounts, processes): servers and mounts have the usual ports and
// directories there, their data lie in memory, and all of it ends with the program, however that ends. A second machine is a
// process whose kernel and host have other names (boot_id, hostname), and that uses the second mount.
package parfs
