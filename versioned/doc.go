// Package versioned keeps distributed arrays whose states can be committed as versions, read
// in any range afterwards, and returned to.
//
//	Create, Open            an Array over the ranks of a Comm
//	Put, Get, Accumulate    any range, by any rank, without the owner taking part
//	Array.Inc               commits the current state as a version; collective
//	GetAt, Cursor           any range of any version
//	Array.Restore           the current state becomes that of a version
//	Array.Reserve           another length, as a regrid needs it; old versions stay
//	Hierarchy               the levels of an AMR run, each with its box table in its versions
//	OpenView                reads, checks and prunes a store without ranks
//	CheckHierarchies        what is absent of hierarchies
//	Rebuild                 makes the record of an array anew
//
// # Where things are
//
// The flattened array is cut into as many segments as there are ranks, of whole chunks (64 KiB). The current state
// is in the memory of the ranks, a comm.Window. A generation is an array of one size on one set of ranks: growing over the
// capacity starts a new one, and so does Open.
//
// A version is committed in this order (commit.go):
//
//  1. a fence: all puts are in
//  2. each rank hashes its chunks (XXH3-128) and finds those that the newest version does not have; the sum over all digests is that of the version
//  3. the ranks of a process on a node write one file with them; it is synced, and its name
//  4. copies go to the next nodes, if Store.Copies says so
//  5. all ranks agree that all went well
//  6. the record is replaced, both files of it: written, synced, renamed, the directory synced
//  7. files that no version needs any more are removed
//
// Where all ranks are of one process and the store is its memory, without copies, each rank keeps its chunks in a block instead (direct.go): of the list above
// remain 1, 2, and 5 as one collective that carries the blocks and the errors of all.
//
// What fails before 6 leaves no trace. If the replacement of the record fails so that nobody knows which one a power
// loss would leave, the array is broken (ErrBroken) and has to be opened again.
//
// # Files
//
//	dir/name/versions                the record
//	dir/name/versions.second         the record again: the newest sound one counts, and the next commit mends the other
//	dir/name/g1-v12-r0.fti           chunks of version 12, of the ranks of one process, whose lowest is 0
//
// A data file is an FTI-FF container (package ffformat, layout F with fast hashes): variable 2s is the table of
// segment s, variable 2s+1 its stored chunks, and one more says what the file is of, so that Rebuild can make a lost record anew. table.go has the bytes of a table. A version is read through the tables of the
// files of its generation: a chunk is what the newest entry says that is not newer than the version; one without any is zeros.
//
// Stored chunks are as in memory (the record tells the byte order), or compressed by zstd where that makes them shorter, or
// either of these encrypted (AES-GCM, a random nonce in front). All are verified by their digest when they are read
// whole. Of a part of an uncompressed chunk only that part is read, and cannot be verified; View and Restore read whole chunks.
//
// The record is a line of JSON and one with its CRC-32: the array, generations, files with the sums of
// their metadata and the oldest version that needs them, versions. docs/format-versions.md has all bytes.
//
// # Room
//
// With Form Log a version writes what changed. Files in which versions that were dropped
// have left holes are emptied: what is needed of them is written again with a new version, so that k kept versions of an array that changes
// everywhere never take more than k+1 times its size (and the tables). Form Flat writes every chunk every time.
//
// # Stores
//
//	nil, Store{}            memory of the processes; other processes read it through windows of the Comm, for which it is there twice
//	Dir                     a directory that all see
//	Dir, Private            a directory on each node; other nodes' can be read within one process only (else ErrRemote), or by Windows
//	Private, Copies: n      what a node writes is on n other nodes too
//	Private, Redundancy     what the nodes write is protected by a scheme of package redset before it is committed, and rebuilt by Open
//
// Restore and Open need no window: those that can read a segment put it where it belongs. Package levels keeps versions in an scr.Session.
package versioned
