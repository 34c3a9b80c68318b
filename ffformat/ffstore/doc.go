// Package ffstore keeps checkpoints of many ranks in a directory, as FTI-FF files
// that are updated in place and yet cannot be lost.
//
//	Open                         collective: a Store on each rank
//	Store.Protect                names the memory of a variable
//	Checkpoint, CheckpointDiff   all protected variables, or what changed of them
//	Recover, RecoverID           fill them from the newest sound checkpoint, or a given one
//	OpenView, Check, Rebuild     reading, checking and mending without ranks
//
// Each rank has one file per slot; with Options.Keep k there are k+1 slots.
// Checkpoint n goes to the slot that holds none of the checkpoints to be kept, and
// CheckpointDiff writes only what that file does not hold yet. A checkpoint counts
// when the seal lists it: one small file, replaced by a rename after everything
// else is durable. So all ranks always restart from the same checkpoint: the new
// one, or the one before.
//
// The free slot holds an older checkpoint: a spare, which Recover takes when no
// kept checkpoint is whole. Recover returns exactly what was
// committed: the seal has a sum of the metadata of every file, and the metadata have
// the hashes of the data.
//
// docs/format-fti-store.md has the files, and the steps of a checkpoint.
//
// Read first: open.go, checkpoint.go, recover.go.
package ffstore
