// Package recovery decides what a running AMR code does about an error: how
// far it rolls back, which steps it takes again, and what that costs.
//
//	Subcycling     the order in which levels take their steps
//	Cadence        which level is saved at the beginning of which step
//	Planner        rule R and the four failure modes: what to restore, what to redo
//	Detector, Classify, BoxErrors   is a value corrupt, and what a recomputation says
//	Replicas       metadata kept on every rank: majority, repair
//	Registry       events, handlers, checks; box -> level -> global -> abort
//	Model          T_save + T_lost + T_reconfig, and the cadence that costs least
//	Config         the knobs of all that
//
// Everything but Registry.Raise of a global event and Replicas.Agree is a pure
// function of its arguments: the same state gives the same plan on every rank.
//
// # Time
//
// Levels 0 (coarsest) ... Lmax are subcycled: while level l takes one step, level l+1
// takes Ratio of them, after it. A coarse step of four levels and ratio 2 is
//
//	level steps 0, 1, 2,3,3, 2,3,3, 1, 2,3,3, 2,3,3
//
// Steps of a level are numbered from 0 at the beginning of the coarse step. Fine step j
// is step j of the finest level; in it, level l is in its step j / Ratio^(Lmax-l).
//
// # Rule R
//
// A level is saved at the beginning of its step k if its cadence c is positive and k is a multiple
// of c (for level 0, k counts coarse steps of the run). An error in level L rolls back to
//
//	m = max{ l <= L : level l was saved at the beginning of the step it is in }
//
//	m == L   only the box is restored; one step of L is taken again
//	m <  L   levels m ... Lmax return to the beginning of m's step
//	m == 0   all levels: global
//	no m     the last global snapshot, else ErrNoRecovery
//
// Levels m ... Lmax can return there because a save of a level at the beginning of its step
// saves the finer levels too, which stand at the same time. (Whether such a version of a finer level
// counts as that level's own is Planner.Implied.) The beginning of a step is after all that changes the level before it: the values
// of finer levels that were brought down at the end of the step before, and a regrid. Nothing else has to be saved, and no plan
// needs any other version.
//
// # Source
//
// The method is that of the paper on recovery of Chombo with GVR; where the paper is silent or its
// arithmetic inconsistent, the docstrings say what was chosen.
package recovery
