// Package cadence decides when the application should take a checkpoint, when the run
// should end, and which checkpoints are flushed. It only computes: it accesses no files
// and does not communicate, and the caller passes the time.
//
//	Pacer.Need               is a checkpoint needed?
//	Limits.Check             should the run end?
//	FlushDue                 should this checkpoint be flushed?
//	Halt                     the content of the halt file
//
// Times of the halt file are whole seconds since 1970.
//
// Read first: pace.go.
package cadence
