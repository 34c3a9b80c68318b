// Package versioned keeps distributed arrays. It commits their states as versions,
// reads any range of a version, and restores versions.
//
//	Create, Open            an Array over the ranks of a Comm
//	Put, Get                access any range from any rank, without action of its owner
//	Array.Inc               commits the current state as a version; collective
//	GetAt                   reads any range of any version
//	Array.Restore           makes a version the current state again
//	Array.Reserve           changes the length, as after a regrid; old versions stay
//	Hierarchy               the levels of an AMR run, each with its box table
//	OpenView, Rebuild       read, check, prune and repair a store without ranks
//
// The current state is in the memory of the ranks. Committed versions are in a Store. A Store is a
// directory that all nodes see, or memory (nil), with copies in the memory of other nodes. Levels
// keeps versions in an scr.Session, which survives the loss of nodes.
//
// When Inc returns nil, the version is committed on all ranks. A failure before the commit
// leaves no trace. After a kill during a commit, the new or the previous version is the
// newest. If it is unknown which of them would survive a power loss, the array is broken
// (ErrBroken) and must be opened again. Readers read whole chunks and verify their digests.
// Any number of ranks can open an array again.
//
// docs/gvr.md is the guide, docs/format-versions.md describes the files.
//
// Read first: array.go, commit.go, hierarchy.go.
package versioned

// How a version is committed (commit.go).
//
// The flattened array is cut into one segment of whole chunks (64 KiB) for each rank. A
// generation is an array of one capacity on one set of ranks. Growth beyond the capacity
// and Open each start a new generation.
//
//  1. A fence completes all puts.
//  2. Each rank hashes its chunks (XXH3-128) and finds the chunks that differ from the
//     newest version. The version's sum covers all digests.
//  3. The ranks of a process on a node write one file with these chunks, and sync the
//     file and its name.
//  4. With Store.Copies, copies go to the memory of the next nodes.
//  5. All ranks agree that no step has failed.
//  6. The two files of the record are replaced: written, synced and renamed, and the
//     directory is synced.
//  7. Files that no version needs are removed.
//
// A store in memory has no record, so step 6 is skipped. Processes read versions in the
// memory of other processes through windows (readers.go).
//
// A version writes only the chunks that changed. Dropped versions leave unneeded chunks in
// files. A new version copies the needed chunks of such files, and removes the files. So k
// kept versions of an array that changes everywhere take at most k+1 times its size (plus
// the tables).
