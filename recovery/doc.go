// Package recovery decides what a running AMR code does about an error: how far it
// rolls back, which steps it takes again, and what that costs.
//
//	Subcycling             the order in which levels take their steps
//	Cadence                which level is saved at the beginning of which step
//	Planner                what to restore and to redo, for four failure modes
//	Classify, BoxErrors    whether a value is corrupt; when a box is rolled back
//	RepairReplicas, Seal   metadata kept on every rank: majority, repair
//	Registry               events, handlers; box -> levels -> global -> abort
//	Model                  what saving and losing cost, and the best cadence
//	Config                 the knobs of all that
//
// Everything but Registry and RepairReplicas is a pure function of its arguments:
// the same state gives the same plan on every rank.
//
// Levels 0 (coarsest) to Lmax are subcycled: while level l takes one step, level
// l+1 takes Ratio of them, after it. Steps of a level are numbered from 0 at the
// beginning of the coarse step. By rule R an error in level L rolls back to the
// finest level m, not finer than L, that was saved at the beginning of the step it
// is in. If m is L only the box returns; otherwise levels m to Lmax do; without
// such a level the run goes back to the last global snapshot, else ErrNoRecovery.
//
// The method is that of the paper on recovery of Chombo with GVR; docs/gvr.md has
// examples, and blobio cost shows where the paper contradicts itself.
package recovery

// Why levels m to Lmax can return: a save of a level at the beginning of its step
// saves the finer levels too, which stand at the same time. (Such a version does
// not count as the finer level's own: rule R looks at its cadence.) The
// beginning of a step is after all that changes the level before it: the values of
// finer levels that were brought down at the end of the step before, and a regrid.
// Nothing else has to be saved, and no plan needs any other version.
