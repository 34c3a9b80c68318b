// Package durable changes files so that every name has a whole state after a crash: leases, outputs, replacement, seals.
//
// # Leases
//
// A name that is written over some time has at most one writer: the holder of its lease. The lease of DIR/NAME is the
// file DIR/.NAME.lock, which names the holder, and a lock (flock) on that file. The lease ends when the holder releases
// it. Another process takes over the lease of a dead holder.
//
// On a file system of one machine (vfs.FS.Local) a free lock proves that the holder is dead, because the kernel drops
// the lock of a dead process. On other file systems, locks may not reach other machines, or other mounts on this
// machine, so a holder writes a heartbeat to the file. If the lock is free, a holder on this machine counts as dead when
// its process is gone. (Two containers with the same host name but separate process numbers cannot see each other's
// processes.) Any other holder counts as dead when the file has not changed for LeaseOptions.Patience by the clock of
// the waiting process. Clocks are never compared.
//
// A holder that counts as dead may only have been stopped, and may continue. Its Check then returns an error, because it
// has lost its lease. A holder may also be stopped between Check and its next step. So that such a holder does no harm,
// all holders follow a protocol:
//
//   - A writer creates files only under names with its own tag (Lease.Tag), and commits by renaming one of them.
//   - It creates the file, then calls Check, then renames.
//   - A new holder first removes all files with other tags, and only then reads the committed state.
//
// So if a former holder's rename came before the removal of its file, the new holder reads the renamed file. If the
// rename came after the removal, it fails, because the file is gone. If the file was created only after the removal, the
// Check after its creation came after the change of holders, and failed.
//
// A client of some network file systems (GlusterFS) sees the former file of a name for a second. So a new holder waits a
// fifteenth of LeaseOptions.Patience (2 s by default) before it removes any file. After this time, Check of the former
// holder fails.
//
// A holder that takes over from one that may be alive (Lease.Unsure) replaces files that change in place with copies.
// Until the holder calls Lease.Settle after the replacement, the lease file stays even after Release, as a warning for
// the next holder.
//
// # Outputs
//
// An Output is one file written by this protocol. Directories and sets of files follow the protocol with a Lease.
//
// # Replacing
//
// Content that is written at once needs no lease. A Temp is a file under a temporary name that is renamed when it is
// whole. A Group is several such files, renamed one after the other. Replace and ReplaceAll do this for bytes. Rename
// and MkdirAll change only names. All these functions can sync their changes. After an error, the old state is in force.
// After an UnsureError, the old or the new state is in force.
//
// A crash may leave a temporary file, which readers ignore (IsTemp). The next file of the same owner and name replaces
// it, and Sweep removes abandoned temporary files. Replacing does not exclude other writers: if two writers replace one
// file at once, both succeed and the later content stays.
//
// # Seals
//
// A Seal is a small file with its own checksum, whose replacement commits the files that it names. A Manifest is a Seal
// in another format.
package durable
