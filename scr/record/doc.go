// Package record holds the two records that several files of SCR carry: that of a
// dataset and that of a file of a dataset. Both are values with plain fields; keys that
// are not known here are kept in Extra and written again.
//
// # Dataset (below DSET, DSETDESC)
//
//	key          value                                                   generations
//	ID           number of the dataset, from 1                           A B C
//	NAME         name: of the user in C, scr.dataset.<ID> before         A B C
//	CREATED      microseconds since 1970                                 A B C
//	USER, JOBNAME, JOBID, CLUSTER  text                                  A B C
//	CKPT         number of the checkpoint, from 1; absent: not one       A B C
//	FLAG_CKPT, FLAG_OUTPUT  0 or 1                                       B C
//	FILES, SIZE  files of all ranks, their bytes                         A B C
//	COMPLETE     0 or 1                                                  A B C
//
// # File (below META)
//
//	ORIG         what the application called it                          A B C
//	PATH, NAME   folder (absolute) and base name of that; A also ORIGPATH, ORIGNAME
//	SIZE         bytes                                                   A B C
//	RANKS        ranks of the run that wrote it                          A B C
//	COMPLETE     0 or 1                                                  A B C
//	CKPT         number of the checkpoint                                A B
//	FILE, TYPE   base name, and FULL, PARTNER, XOR [A] or USER, XOR [B]  A B
//	CRC          CRC-32                                                  A B; ours also in C
//	MODE, UID, GID, ATIME_SECS, ATIME_NSECS, CTIME_*, MTIME_*            C
//
// A value that is not a number where one is wanted, or is out of range, is an error;
// a key that is absent is not.
package record
