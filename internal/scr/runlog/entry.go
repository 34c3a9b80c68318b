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

	NodeFail      = "NODE_FAIL" // this and the rest: by the run loop
	RunStart      = "RUN_START"
	RunEnd        = "RUN_END"
	ScavengeStart = "SCAVENGE_START"
	ScavengeEnd   = "SCAVENGE_END"
)

// Transfers.
const (
	Write      = "WRITE"      // by the application, into the cache
	Encode     = "ENCODE"     // redundancy
	Checkpoint = "CHECKPOINT" // both of them, for a checkpoint
	Output     = "OUTPUT"     // both of them, for other datasets
	FlushSync  = "FLUSH_SYNC"
	FlushAsync = "FLUSH_ASYNC"
	Fetch      = "FETCH"
)

// Entry is one line of a log. Numbers are pointers where 0 is a value: nil is
// not written. [Num] makes one.
type Entry struct {
	Time  time.Time // to the second
	Host  string
	JobID string

	// Exactly one of the two.
	Event string
	Xfer  string

	Note  string         // events only
	From  string         // transfers only: directory
	To    string         // transfers only: directory
	Dset  *int64         // dataset id
	Name  string         // of the dataset
	Procs *int64         // ranks
	Nodes *int64         // nodes
	Took  *time.Duration // written in seconds, to the microsecond
	Bytes *int64         // written with six decimals that are 0, as the original's
	Files *int64
}

// Num returns a pointer to n: Entry{Dset: Num(7)}.
func Num[T int64 | time.Duration](n T) *T { return &n }
