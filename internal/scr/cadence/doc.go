// Package cadence holds the rules of when: when the application should take a
// checkpoint, when the run should end, and which checkpoints are flushed. It is arithmetic only: no files, no
// ranks, and the time is given to it.
//
//	Pacer.Need               is a checkpoint needed?
//	Limits.Check             should the run end?
//	FlushDue                 is this checkpoint to be flushed?
//	Halt                     the content of the halt file
//
// Times of the halt file are whole seconds since 1970.
//
// Read first: pace.go.
package cadence
