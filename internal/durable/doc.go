// Package durable holds what all rooms need to change files so that others can rely on them.
//
// # Leases
//
// What is written over a time, and has a name, has at most one writer: the one that holds its lease.
// The lease of DIR/NAME is the file DIR/.NAME.lock, which says who holds it, and a lock (flock) of that file.
// It goes when the holder releases it; one that a dead holder left is taken over.
//
// Whether the holder is dead is certain where a file system belongs to one machine (vfs.FS.Local): the kernel has dropped
// its lock. Elsewhere locks may not reach other machines, so a holder writes a heartbeat to the file, and one that
// was on another machine counts as dead when the file has not changed for LeaseOptions.Patience. That is measured by
// the clock of the one who waits; clocks are never compared.
//
// Such a holder may wake up. Check tells it that it has lost its lease. A holder that is stopped between Check and
// what it then does must not do harm either, and this is what the holders' protocol is for:
//
//   - A writer creates files only under names with its own tag (Lease.Tag) in them, and commits by renaming one of them.
//   - It creates the file, then calls Check, then renames.
//   - Who gets a lease removes all files with the tags of others, and only then reads which state is committed.
//
// So a rename of a former holder either came before its file was removed, and is seen, or it fails: if the file was
// created after the removal, Check came after the change of holders, and failed.
//
// What changes in place is given new files by who takes over from a holder that may be alive (Lease.Unsure). Until
// that is done (Lease.Settle), the file of the lease stays even after Release, so that the next holder knows.
//
// # Outputs
//
// An Output is one file that is written by this protocol. What is a directory, or several files, follows it with a Lease.
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
