// Package pio has the calls of ParallelIO (PIO, SCORPIO), the I/O library of climate and ocean models, over blobs: decompositions by compdof, frames, and
// distributed arrays that are written in any order and read by any other decomposition. The C library and the Fortran modules of PIO's names stand on it.
//
//	NewSystem                    the ranks
//	System.InitDecomp            a decomposition: which elements of an array each rank has
//	System.Create, Open, Delete  a File: blobs, process-centric blobs, or an ordinary netCDF file
//	File.DefDim, DefVar, PutAtt  definitions, at any time; Var, Dim, Att and others tell of them
//	File.SetFrame, WriteDarray, ReadDarray
//	                             distributed arrays
//	File.PutVars, GetVars        parts of variables, strided and mapped
//	File.Sync, Close             commits
//
// Numbers and indices count from 0, but for the elements of a decomposition's map. What has a context is collective: all ranks call it, in the same
// order. Definitions are not, but must be the same on all ranks. Errors have PIO's numbers: CodeOf.
//
// WriteDarray replaces a frame: elements that no rank has become the fill value, also where something was written before. Reading commits what was
// written to the file before. Variables and records that nobody wrote read as fill values, as do elements without an owner.
//
// What is wrong with a call is the same on all ranks, and an error on all. Only a buffer that is too short, or of another type, may be wrong on one rank alone:
// WriteDarray, which does not communicate unless it converts, returns it on that rank, and the next Sync, Close or read on all; the frame is then not written.
// A variable or a decomposition that WriteDarray does not know on one rank alone is told there, and the others find at the next commit, or where they convert,
// that ranks differ; they wait for that rank to come there. After an error in a commit, data that were written ahead of it are lost, and all that follows
// fails; what was committed before stays.
package pio

// How a write goes.
//
// A File keeps what is written, in its log, until Sync or Close, or until it is more than FileOptions.Buffer. Each variable then has a route:
//
//	straight  all of it was written by one decomposition, each record once: it goes to the files as each rank has it. Nothing is exchanged
//	share     parts, records that several calls have written, and what the base has of records that change: each rank gets an equal share of each record from
//	          all others, over what was there, and writes that
//	whole     the same of small variables, which are not decomposed: the root gets all of it, and tells it to all
//
// The first commit makes the dataset. Later ones append to it where what is new are records, variables with records, and attributes. Any other change
// (records that are committed are written over, dimensions and fixed variables are added, something is renamed or deleted) writes the dataset anew,
// from the base, which is what is committed: it takes the place of the base when it is complete. So a program that changes what it has committed
// should do so rarely.
//
// Over FileOptions.Buffer, the log goes to a writer that stays open (stream.go). It waits for that, up to four times as much, until each large variable has been
// written once, so that its route is known. What the writer cannot take ends it, with a commit. Over FileOptions.Memory the log is committed in any case.
//
// A canonical file is made of blobs under a hidden name beside it, another for each File, which Close converts.
//
// What another writer has committed since a File was opened, or has committed itself, is not written over: the next commit, or Close, is ESTALE (stamp.go).
