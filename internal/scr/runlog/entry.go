package runlog

import "time"

// Events of the library and of the run loop.
const (
	Start             = "START"
	ComputeStart      = "COMPUTE_START"
	ComputeEnd        = "COMPUTE_END"
	CheckpointStart   = "CHECKPOINT_START"
	CheckpointEnd     = "CHECKPOINT_END"
	OutputStart       = "OUTPUT_START"
	OutputEnd         = "OUTPUT_END"
	FlushStart        = "FLUSH_START"
	FlushSuccess      = "FLUSH_SUCCESS"
	FlushFail         = "FLUSH_FAIL"
	AsyncFlushStart   = "ASYNC_FLUSH_START"
	AsyncFlushSuccess = "ASYNC_FLUSH_SUCCESS"
	AsyncFlushFail    = "ASYNC_FLUSH_FAIL"
	FetchStart        = "FETCH_START"
	FetchSuccess      = "FETCH_SUCCESS"
	FetchFail         = "FETCH_FAIL"
	RebuildStart      = "REBUILD_START"
	RebuildSuccess    = "REBUILD_SUCCESS"
	RebuildFail       = "REBUILD_FAIL"
	RestartSuccess    = "RESTART_SUCCESS"
	RestartFail       = "RESTART_FAIL"
	Halt              = "HALT"

	NodeFail      = "NODE_FAIL" // the run loop writes this event and the following ones
	RunStart      = "RUN_START"
	RunEnd        = "RUN_END"
	ScavengeStart = "SCAVENGE_START"
	ScavengeEnd   = "SCAVENGE_END"
)

// Transfers.
const (
	Write      = "WRITE"      // time in which the application writes a dataset to the cache
	Encode     = "ENCODE"     // time in which redundancy data are made
	Checkpoint = "CHECKPOINT" // Write and Encode of a checkpoint
	Output     = "OUTPUT"     // Write and Encode of other datasets
	FlushSync  = "FLUSH_SYNC"
	FlushAsync = "FLUSH_ASYNC"
	Fetch      = "FETCH"
)

// Entry is one line of a log. A number for which 0 is a valid value is a pointer, and nil is not written.
// [Num] makes such a pointer.
type Entry struct {
	Time  time.Time // in whole seconds
	Host  string
	JobID string

	// Exactly one of Event and Transfer is set.
	Event string
	Xfer  string

	Note  string         // events only
	From  string         // source directory, for transfers only
	To    string         // target directory, for transfers only
	Dset  *int64         // dataset id
	Name  string         // dataset name
	Procs *int64         // number of ranks
	Nodes *int64         // number of nodes
	Took  *time.Duration // written in seconds with six decimals
	Bytes *int64         // written with six decimals, which are all 0, as in SCR
	Files *int64
}

// Num returns a pointer to n: Entry{Dset: Num(7)}.
func Num[T int64 | time.Duration](n T) *T { return &n }
