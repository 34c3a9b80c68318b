// Package subfile says which rank writes which file of a dataset, what those
// files are called, how a dataset is committed, and how many of its files may
// be open at once.
//
// # Names
//
//	F_h0.nc.0000            a subfile: the base name and the subfile number, at least four digits
//	F_h0.nc.0000.partial    the same while it is being written
//	F_h0.nc.manifest        the dataset is whole
//	F_h0.nc.manifest.next   a commit is being prepared; .manifest.next.partial while this record is written
//	F_h0.h5+1.0000          a subfile of the first set of records appended to a process-centric dataset
//
// # Commit
//
// The manifest is the commit record. Its states on disk, and what they mean
// to somebody who opens the dataset:
//
//	.manifest   .manifest.next          meaning
//	absent      absent                  foreign: written by another program, nothing is known
//	absent      unprepared or torn      never finished: ErrNotCommitted
//	present     absent                  whole, as .manifest says
//	present     unprepared or torn      whole, as .manifest says; a writer is at work, or died
//	any         prepared                whole, as .manifest.next says: every byte of it was durable before
//	                                    the record was, only renames (or a record count) may be outstanding
//
// A reader uses a prepared record as it is, taking a subfile under its partial
// name where the rename is outstanding; the next writer finishes the renames
// (Recover). So an old dataset that is being replaced stays readable until the
// instant at which the new one is whole.
//
// Replacing a dataset of another program announces nothing: an unprepared
// record beside it would say that it was never finished. Its first record is the
// prepared one. So subfiles beside an unprepared record, and no manifest, are
// always the work of a writer that died.
package subfile
