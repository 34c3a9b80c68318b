// Package ffstore keeps checkpoints of many ranks in a directory, as FTI-FF files
// that are updated in place without the risk of losing a committed checkpoint.
//
//	Open                         collective: a Store on each rank
//	Store.Protect                registers the memory of a variable
//	Checkpoint, CheckpointDiff   write all protected variables, or only what has changed
//	Recover, RecoverID           fill the variables from the newest sound checkpoint, or a given one
//	OpenView, Check, Rebuild     read, check and mend a store without ranks
//
// Each rank has one file per slot; with Options.Keep k there are k+1 slots.
// A new checkpoint goes to the slot that has no kept checkpoint. CheckpointDiff writes only the
// blocks that differ from the file in the slot. A checkpoint is committed when the seal lists it.
// The seal is one small file, replaced by a rename after everything else is durable. All ranks
// therefore restart from the same checkpoint: the new one, or the one before.
//
// The free slot holds an older checkpoint, the spare. If no kept checkpoint is undamaged, Recover
// falls back to the spare. Recover returns exactly the committed data: the seal has a sum of the
// metadata of every file, and the metadata have the hashes of the data.
//
// docs/format-fti-store.md describes the files and the steps of a checkpoint.
//
// Read first: open.go, checkpoint.go, recover.go.
package ffstore
