// Package versioned keeps distributed arrays whose states can be committed as
// versions, read in any range afterwards, and returned to.
//
//	Create, Open            an Array over the ranks of a Comm
//	Put, Get                any range, by any rank, without the owner taking part
//	Array.Inc               commits the current state as a version; collective
//	GetAt                   any range of any version
//	Array.Restore           a version becomes the current state again
//	Array.Reserve           another length, as a regrid needs it; old versions stay
//	Hierarchy               the levels of an AMR run, each with its box table
//	OpenView, Rebuild       reading, checking, pruning and mending without ranks
//
// The current state is in the memory of the ranks; committed versions are in a
// Store: memory (nil), with copies in the memory of other nodes, or a directory that all
// nodes see. Levels keeps them in an scr.Session, which survives the loss of nodes.
//
// When Inc returns nil the version is committed on all ranks; what fails before the
// commit leaves no trace, and a kill at any instant leaves the newest version or
// the one before. If nobody knows which of the two a power loss would leave, the
// array is broken (ErrBroken) and has to be opened again. Chunks are read whole, and
// verified by their digest.
// Any number of ranks can open an array again.
//
// docs/gvr.md is the guide, docs/format-versions.md has the files.
//
// Read first: array.go, commit.go, hierarchy.go.
package versioned

// How a version is committed (commit.go).
//
// The flattened array is cut into as many segments as there are ranks, of whole
// chunks (64 KiB). A generation is an array of one size on one set of ranks:
// growing over the capacity starts a new one, and so does Open.
//
//  1. a fence: all puts are in
//  2. each rank hashes its chunks (XXH3-128) and finds those that the newest
//     version does not have; the version's sum is taken over all digests
//  3. the ranks of a process on a node write one file with them; it is synced,
//     and its name
//  4. copies go to the memory of the next nodes, if Store.Copies says so
//  5. all ranks agree that all went well
//  6. the record is replaced, both files of it: written, synced, renamed, the
//     directory synced
//  7. files that no version needs any more are removed
//
// In memory there is no record to replace: 6 falls away. Processes read the versions
// that others hold in memory through windows (readers.go).
//
// A version writes the chunks that changed. Files in which versions that were dropped
// have left holes are emptied: what is needed of them is written again with a new
// version, so that k kept versions of an array that changes everywhere never take more
// than k+1 times its size (and the tables).
