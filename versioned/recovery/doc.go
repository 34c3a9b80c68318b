// Package recovery runs a subcycled AMR code whose levels are saved as versions, and recovers the code from errors. Planner and Model work without
// a run: they plan recoveries and compute their cost.
//
//	Planner     plans which versions to restore and which steps to repeat, after an error found at once or late, or a loss of ranks
//	Registry    passes events to handlers, by scope: box, levels, global, abort
//	Run         takes the steps of a Solver, saves its levels and carries out plans
//	Model       computes the cost of saves and losses, and the best cadence
//
// A program implements Solver, which computes steps. A Run calls the steps in order, saves levels by their cadence, and passes events to handlers
// on all ranks. After an event a Run restores saved levels and repeats steps by a plan:
//
//	r, err := recovery.Open(ctx, c, store, spec, solver, nil) // continues from the last good snapshot, or begins a run
//	err = r.Go(ctx, steps)
//
// # Plans
//
// Levels 0 (coarsest) to Lmax are subcycled: after each step of level l, level l+1 takes Ratio steps. The steps of a level are numbered from 0 at
// the beginning of the coarse step. By rule R an error in level L rolls back to the finest level m, not finer than L, that was saved at the
// beginning of its current step. If m is L, only the box is restored, otherwise levels m to Lmax. If no level m exists, the run returns to the
// last global snapshot; without a snapshot the error is ErrNoRecovery. A plan depends only on its arguments, so all ranks make the same plan.
//
// # Events
//
// A Run raises an event when a step returns or panics with an error, a version is damaged, a store cannot be written, or a Comm is broken.
// This package has a handler for each kind, which starts at the scope of the event's plan. Handlers of the program (Run.Registry) run first.
//
//	kind        raised by                            handled by
//	data        the solver, Inspect                  the box or levels are restored (rule R); if the error recurs: a larger scope
//	systemic    Inspect                              with Config.AbortSystemic the run ends; otherwise Options.Diagnose
//	late        the solver                           Planner.Late, or the newest clean snapshot; later versions are marked as tainted
//	temporary   a step that fails or panics          the levels of the rank are restored
//	permanent   the solver                           the levels of the rank are restored, and its boxes go to other ranks
//	metadata    the solver                           the box list of the majority of ranks is used; a rank with wrong own boxes has lost their data
//	version     a version that is damaged            the version is tainted, and the run returns to an older snapshot
//	store       a save that fails                    no handler: the run ends; with a handler of the program it continues without the save
//	comm        a lost rank, or the context          no handler: the run ends on all ranks; Open continues on fewer ranks
//
// The method comes from the paper on recovery of Chombo with GVR. docs/gvr.md has examples. The command "blobio cost" shows where the
// paper contradicts itself.
//
// Read first: plan.go, run.go, solver.go.
package recovery

// Levels m to Lmax can be restored because a save of a level at the beginning of its step also saves the finer levels, which then have the same
// simulated time. Rule R ignores such a version of a finer level, because the finer level was not saved by its own cadence. The beginning of a
// step comes after the averaging of finer levels at the end of the previous step, and after a regrid. No plan needs any other version.
