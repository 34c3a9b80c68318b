// Package rerun runs a subcycled AMR code whose levels are saved as versions, and recovers it from what happens to it.
//
// The code is a Solver: it computes steps. A Run has the order of the steps, saves levels by their cadence, brings events to handlers on all ranks, goes
// back as the plan for an event says, and takes steps again.
//
//	r, err := rerun.Open(ctx, c, store, spec, solver, nil)   // goes on from the last good snapshot, or begins
//	err = r.Go(ctx, steps)
//
// Events raise themselves: what a step returns or panics with, a version that is damaged, a store that cannot be written, a Comm that is
// broken. Each has a handler of this package, for the scope that its plan has; handlers of the program (Run.Registry) go before it.
//
//	kind        raised by                            handled by
//	data        the solver, Inspect                  the box, or levels, return (rule R); the same again: a larger scope
//	systemic    Inspect                              Config.Systemic: Options.Diagnose, or the end
//	late        the solver                           Planner.Late, or the newest clean snapshot; what is later is marked as tainted
//	temporary   a step that fails or panics          the levels of the rank return
//	permanent   the solver                           the same, and the boxes go to other ranks
//	metadata    the solver                           the boxes are those of most ranks
//	version     a version that is damaged            it is marked as tainted, and an older snapshot taken
//	store       a save that fails                    nobody: the run ends, unless the program has a handler; then it goes on without
//	comm        a rank that is gone, or the context  nobody: the run ends on all ranks; Open goes on, on fewer
package rerun
