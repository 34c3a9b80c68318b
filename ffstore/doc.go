// Package ffstore keeps checkpoints of many ranks in a directory, as FTI-FF files that
// are updated in place and yet cannot be lost.
//
// Each rank has one file per slot. Checkpoint n goes to the slot that holds none of the
// checkpoints to be kept, and only what that file does not hold yet is written
// (CheckpointDiff). A checkpoint counts when the commit record says so, which is one small
// file, replaced by a rename after everything else is durable. So whatever happens, and
// whenever, all ranks restart from the same checkpoint: the new one, or the one before.
//
//	dir/checkpoints               the commit record
//	dir/slot0/dCPFile-Rank0.fti   one FTI-FF file per rank and slot
//	dir/slot1/dCPFile-Rank0.fti
//	dir/node000000.digests        one side file per node: digests of blocks, a log
//
// With Options.Keep k there are k+1 slots: the space is k+1 times the data, the time that
// of writing what changed since the slot was last written, k+1 checkpoints ago. CatchUp, called between
// two checkpoints, brings the free slot up to date, so that the next one writes only what changed since
// the last.
//
// The free slot still holds an older checkpoint, or the copy that CatchUp made: a spare, which Recover
// takes when no kept checkpoint is whole.
//
// The side file makes a restart cheap: it tells what the files of all slots hold. It is
// never trusted without its checksum, and never against the metadata of the file; before a
// slot is touched it says so, durably. Without it the next checkpoint is a full
// one, and Recover verifies by MD5.
//
// The record has a sum of the metadata of every rank's file, and the metadata have the hashes
// of the data: what is recovered is what was committed. docs/format-fti-store.md has the bytes.
//
// # Order of a checkpoint
//
//  1. all ranks agree on id and time; rank 0 locks the directory (until Close), and sees that
//     nobody else has committed; the first time of all it commits a record without checkpoints,
//     before there is a slot: so files without a record mean that it was lost
//  2. the leader of each node marks in the front of its side file, which is overwritten in place,
//     that slot k is about to be written (its epoch, plus one: no older digests count any more),
//     and syncs it
//  3. every rank writes the changed blocks, then the metadata, and syncs its file; names
//     of new files are synced
//  4. the leaders append the digests and sync
//  5. all ranks agree that all went well
//  6. rank 0 replaces the commit record (write, sync, rename, sync of the directory)
//  7. all ranks learn the outcome
//
// An error before 6 leaves the store as it was, on all ranks. If in 6 it is not known whether the
// rename has happened, the Store is broken (ErrBroken) and has to be opened again.
//
// # Other ways in
//
// View reads a store without ranks, Check looks for all that is wrong with it, Export copies
// a checkpoint to files with FTI's names, Rebuild makes a commit record where it was lost.
package ffstore
