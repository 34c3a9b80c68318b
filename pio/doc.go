// Package pio implements the calls of ParallelIO (PIO, SCORPIO), the I/O library of climate and ocean models, on blobs. It has decompositions by compdof,
// frames, and distributed arrays. A program can write an array in any order and read it with another decomposition. The C library and the Fortran modules
// with PIO's names use this package.
//
//	NewSystem                    the ranks
//	System.InitDecomp            a decomposition: each rank's elements of an array
//	System.Create, Open, Delete  a File: blobs, process-centric blobs, or an ordinary netCDF file
//	File.DefDim, DefVar, PutAtt  definitions, at any time; Var, Dim, Att and others return them
//	File.SetFrame, WriteDarray, ReadDarray
//	                             distributed arrays
//	File.PutVars, GetVars        parts of variables, strided and mapped
//	File.Sync, Close             commits
//
// Numbers and indices count from 0, but the elements of a decomposition's map count from 1. Calls with a context are collective: all ranks make them, in the
// same order. Definitions are not collective, but must be the same on all ranks. Errors have PIO's numbers: see CodeOf.
//
// WriteDarray replaces a frame: elements that no rank has become the fill value, even if an earlier call wrote them. Reads commit earlier writes of the file.
// Unwritten variables, records and elements read as fill values.
//
// A wrong argument must be the same on all ranks, and is an error on all ranks. Only a buffer may be wrong (too short, or of another type) on one rank alone.
// Then WriteDarray, which communicates only if it converts, returns the error on that rank, the next Sync, Close or read returns the error on all ranks, and
// the frame is not written. If any other argument of WriteDarray is wrong on one rank alone, that rank gets the error at once, and all ranks get it when they
// next communicate. As after an error in a commit, data since the last commit are then lost, and all later calls fail; earlier commits stay.
//
// Read first: file.go, darray.go, transaction.go.
package pio

// How a write proceeds.
//
// A File keeps writes in its log until Sync or Close, or until the log exceeds FileOptions.Buffer. Each variable then has a routing:
//
//	straight  One decomposition wrote the whole variable, each record once. Each rank passes its own elements to the writer, without communication.
//	share     For parts, records of several calls, and changed records of the base. Each rank takes an equal share of each record: it reads the former
//	          elements, collects the new elements from all ranks, and passes the share to the writer.
//	whole     The same for small variables, which have no decomposition: the root assembles them and sends them to all ranks.
//	blank     No write: no rank has elements, so all read as fill values. Only for large variables without the record dimension.
//
// The first commit makes the dataset. Later commits append to it if they add only records, record variables and attributes. All other changes
// (overwriting committed records, adding dimensions or fixed variables, renaming, deleting) rewrite the dataset from the base, the committed state. The new
// dataset replaces the base when it is complete. So a program should rarely change committed data.
//
// If the log exceeds FileOptions.Buffer, its content goes to a writer that stays open (stream.go). Before that, each large variable must have been written
// once, so that its routing is known; the log waits for this up to four times the buffer. A write that does not fit the open writer commits it. A log over
// FileOptions.Memory is always committed.
//
// Close makes a canonical file from blobs with a hidden name beside it. Each File has its own hidden name.
//
// If another writer has committed since the File was opened or last committed, the next commit, or Close, fails with ESTALE (base.go).
