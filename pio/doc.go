// Package pio has the calls of ParallelIO (PIO, SCORPIO), the I/O library of climate and ocean models, over blobs: decompositions by compdof, frames, and
// distributed arrays that are written in any order and read by any other decomposition. The C library and the Fortran modules of PIO's names stand on it.
//
//	NewSystem                    the ranks
//	System.InitDecomp            a decomposition: the elements of an array that each rank has
//	System.Create, Open, Delete  a File: blobs, process-centric blobs, or an ordinary netCDF file
//	File.DefDim, DefVar, PutAtt  definitions, at any time; Var, Dim, Att and others return them
//	File.SetFrame, WriteDarray, ReadDarray
//	                             distributed arrays
//	File.PutVars, GetVars        parts of variables, strided and mapped
//	File.Sync, Close             commits
//
// Numbers and indices count from 0, but the elements of a decomposition's map count from 1. Calls with a context are collective: all ranks make them, in the
// same order. Definitions are not, but must be the same on all ranks. Errors have PIO's numbers: CodeOf.
//
// WriteDarray replaces a frame: elements that no rank has become the fill value, also where an earlier call wrote them. Reading commits earlier writes of
// the file. Variables and records that nobody wrote read as fill values, as do elements without an owner.
//
// A wrong argument must be the same on all ranks, and is an error on all. Only a buffer that is too short, or of another type, may be wrong on one rank alone:
// WriteDarray, which does not communicate unless it converts, returns the error on that rank, and the next Sync, Close or read returns it on all; the frame is
// then not written. If one rank alone passes WriteDarray an unknown variable or decomposition, it gets the error at once, and the others at the next commit,
// or where they convert; they wait for that rank there. After an error in a commit, data that were written before the commit are lost, and all later calls
// fail; earlier commits stay.
//
// Read first: file.go, darray.go, stream.go.
package pio

// How a write goes.
//
// A File keeps writes in its log until Sync or Close, or until the log exceeds FileOptions.Buffer. Each variable then has a routing:
//
//	straight  all of it was written by one decomposition, each record once: each rank gives the writer its own elements, without communication
//	share     parts, records of several calls, and changed records of the base: each rank gets an equal share of each record from all others, over the
//	          former elements, and gives that to the writer
//	whole     the same for small variables, which have no decomposition: the root assembles them and gives them to all
//
// The first commit makes the dataset. Later commits append to it if they have only records, variables with records, and attributes. Any other change
// (committed records are written over, dimensions and fixed variables are added, something is renamed or deleted) writes the dataset anew,
// from the base, which is the committed state: the new one takes the place of the base when it is complete. So a program should rarely change what it has
// committed.
//
// Over FileOptions.Buffer, the log goes to a writer that stays open (stream.go). The log waits for that, up to four times the buffer, until each large
// variable has been written once, so that its routing is known. A write that the open writer cannot take commits it. Over FileOptions.Memory the log is
// committed in any case.
//
// A canonical file is made of blobs under a hidden name beside it, another one for each File, which Close converts.
//
// A File does not overwrite the commits of another writer since it was opened, or since its own last commit: the next commit, or Close, is ESTALE (base.go).
