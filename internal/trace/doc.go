// Package trace writes the calls on files that package vfs makes to a text file, if BLOBIO_TRACE names one.
//
// The text is that of darshan-dxt-parser (module X_POSIX), which tools for traces of DXT read: one line for each read and
// write, in blocks. A block holds calls on one file since its last block, at most [blockRows] of them; the counts in its head
// are those of the block, the number of a segment counts on.
//
//	# DXT, file_id: 1143795557080799753, file_name: /scratch/run/F.nc.0000
//	# DXT, rank: 0, hostname: n1
//	# DXT, write_count: 1, read_count: 0
//	# DXT, mnt_pt: /scratch, fs_type: lustre
//	# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)
//	 X_POSIX       0  write        0               0          262144    0.002914    0.003207
//	# X_POSIX      0   sync        0               -               -    0.003210    0.004101
//
// Calls that move no bytes (open, close, sync, allocate, truncate, map, rename, remove) are comments, since DXT has none of
// them. Times are in seconds since start_time, which is a whole second of the clock of the node, so that traces of several
// processes can be laid side by side.
//
// # Names
//
// In BLOBIO_TRACE %r is the rank by the launcher's environment (0 without one), %p the process, %h the host, %% a per
// cent sign. A process that is one of several gets its rank appended to a name that has neither %r nor %p.
//
// The file must not be there: nothing is ever overwritten or appended to, and no link is followed. Programs with rights that
// their caller lacks (setuid, setgid, file capabilities) write none. A trace that cannot be made, or not be written any more,
// is a line on standard error; the program goes on.
//
// # How much is kept
//
// Calls on an open file are kept until there are blockRows of them, until it is synced or closed. So a crash loses no more than
// these, and memory is bounded by the number of open files.
package trace
