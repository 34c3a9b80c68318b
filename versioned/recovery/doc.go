// Package recovery runs a subcycled AMR code whose levels are saved as versions, and recovers it from errors. It also plans recoveries and
// models their cost, without a run.
//
//	Planner     what to restore and which steps to repeat, for an error found at once or late, or for lost ranks
//	Registry    events and their handlers; scopes: box, levels, global, abort
//	Run         takes the steps of a Solver, saves its levels, carries plans out
//	Model       what saving and losing cost, and the best cadence
//
// A program implements Solver: it computes steps. A Run has the order of the steps, saves levels by their cadence, brings events to
// handlers on all ranks, goes back as the plan for an event demands, and repeats steps:
//
//	r, err := recovery.Open(ctx, c, store, spec, solver, nil) // continues from the last good snapshot, or begins
//	err = r.Go(ctx, steps)
//
// # Plans
//
// Levels 0 (coarsest) to Lmax are subcycled: while level l takes one step, level l+1 takes Ratio steps, after it. Steps of a level are numbered
// from 0 at the beginning of the coarse step. By rule R an error in level L rolls back to the finest level m, not finer than L, that was saved at
// the beginning of its current step. If m is L, only the box returns; otherwise levels m to Lmax do. Without such a level the run goes back to
// the last global snapshot, else ErrNoRecovery. A plan is a pure function of its arguments: all ranks make the same one.
//
// # Events
//
// A Run raises an event when a step returns or panics with an error, a version is damaged, a store cannot be written, or a Comm is broken.
// Each kind has a handler of this package, for the scope of its plan; handlers of the program (Run.Registry) go before it.
//
//	kind        raised by                            handled by
//	data        the solver, Inspect                  the box, or levels, return (rule R); if it comes again: a larger scope
//	systemic    Inspect                              Config.AbortSystemic: the end, otherwise Options.Diagnose
//	late        the solver                           Planner.Late, or the newest clean snapshot; later versions are marked as tainted
//	temporary   a step that fails or panics          the levels of the rank return
//	permanent   the solver                           the same, and the boxes go to other ranks
//	metadata    the solver                           the boxes become those that most ranks have; a rank whose own ones were wrong has lost their data
//	version     a version that is damaged            it is marked as tainted, and an older snapshot is taken
//	store       a save that fails                    nobody: the run ends, unless the program has a handler; then it continues without the save
//	comm        a rank that is gone, or the context  nobody: the run ends on all ranks; Open continues, on fewer
//
// The method is from the paper on recovery of Chombo with GVR; docs/gvr.md has examples, and blobio cost shows where the paper contradicts
// itself.
//
// Read first: plan.go, run.go, solver.go.
package recovery

// Why levels m to Lmax can return: a save of a level at the beginning of its step
// saves the finer levels too, which stand at the same time. (Such a version does
// not count as the finer level's own: rule R looks at its cadence.) The
// beginning of a step is after all that changes the level before it: the values of
// finer levels that were brought down at the end of the step before, and a regrid.
// Nothing else has to be saved, and no plan needs any other version.
