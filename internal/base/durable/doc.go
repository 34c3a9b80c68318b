// Package durable changes files so that every name has a whole state after a crash: leases, outputs, replacement, seals.
//
// # Leases
//
// A name that is written over some time has at most one writer: the holder of its lease. The lease of DIR/NAME is the
// file DIR/.NAME.lock, which names the holder, and a lock (flock) of that file. It ends when the holder releases it; the
// lease of a dead holder is taken over.
//
// On a file system of one machine (vfs.FS.Local) a free lock proves that the holder is dead, since the kernel drops it.
// Elsewhere locks may not reach other machines, nor other mounts on this one, so a holder writes a heartbeat to the file. With the lock free, a holder
// on this machine counts as dead if its process is gone, which containers of one host name and different numbers of processes cannot tell of each
// other; any other holder, when the file has not changed for LeaseOptions.Patience by the clock of the waiting process; clocks are
// never compared.
//
// Such a holder may wake up. Check returns an error then, since it has lost its lease. A holder that is stopped between Check and its
// next step must do no harm either, so holders follow a protocol:
//
//   - A writer creates files only under names with its own tag (Lease.Tag) in them, and commits by renaming one of them.
//   - It creates the file, then calls Check, then renames.
//   - A new holder removes all files with the tags of others, and only then reads which state is committed.
//
// So a rename of a former holder either came before its file was removed, and is seen, or it fails: if the file was
// created after the removal, Check came after the change of holders, and failed.
//
// A client of some network file systems (GlusterFS) sees for a second the file that had a name before. So a new holder waits a fifteenth of
// LeaseOptions.Patience, 2 s, before it removes anything: Check fails by then.
//
// A holder that takes over from one that may be alive (Lease.Unsure) gives new files to what changes in place. Until
// that is done (Lease.Settle), the lease's file stays even after Release, so that the next holder knows.
//
// # Outputs
//
// An Output is one file written by this protocol. Directories and sets of files follow it with a Lease.
//
// # Replacing
//
// What is written at once needs no lease. A Temp is a file under a temporary name that gets its name when it is whole; a Group is several that get
// theirs one after the other. Replace and ReplaceAll do this for bytes. Rename and MkdirAll change names alone. Each of them can sync what it
// changes, and then an error leaves one of two states: the old one, or (UnsureError) one of the two, it is not known which.
//
// A crash may leave a temporary file. It never counts (IsTemp). The next one of the same owner and name replaces it, and Sweep removes those that nobody writes any more.
// Replacing keeps nobody else off: two that replace one file at once both succeed, and the later one counts.
//
// # Seals
//
// A Seal is a small file with a checksum of itself, whose replacement commits what it names. A Manifest is the same in another spelling.
package durable
