// Package ffstore keeps checkpoints of many ranks in a directory, as FTI-FF files. Files
// are updated in place, but never the files of a checkpoint to be kept.
//
//	Open                         collective: a Store on each rank
//	Store.Protect                registers the memory of a variable
//	Checkpoint, CheckpointDiff   write all protected variables, or only their changes
//	Recover, RecoverID           fill the variables from the newest sound checkpoint, or a given one
//	OpenView, Check, Rebuild     read, check and repair a store without ranks
//
// Each rank has one file per slot; with Options.Keep k there are k+1 slots. A new
// checkpoint goes to the free slot, which has no checkpoint to be kept. CheckpointDiff
// writes only the blocks that differ from the file in the slot. A checkpoint is committed
// when the seal lists it. The seal is one small file, replaced by a rename after all other
// files are durable. So all ranks restart from the same checkpoint: the new or the
// previous one.
//
// The free slot holds an older checkpoint, the spare. Recover uses the spare when no kept
// checkpoint is whole. Recover returns exactly the committed data: the seal has a sum of
// the metadata of every file, and the metadata have the hashes of the data.
//
// docs/format-fti-store.md describes the files and the steps of a checkpoint.
//
// Read first: open.go, checkpoint.go, recover.go.
package ffstore
