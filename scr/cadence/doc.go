// Package cadence holds the rules of when: when the application should take a
// checkpoint, when the run should end, which redundancy descriptor a checkpoint
// uses and which checkpoints are flushed. It is arithmetic only: no files, no
// ranks, and the time is given to it.
//
// # Is a checkpoint needed?
//
// [Pacer.Need] counts its calls and says yes if any of these holds:
//
//	halt is due      so that nothing is lost by ending (the caller says so)
//	INTERVAL  > 0    and the number of calls so far is a multiple of it
//	SECONDS   > 0    and that many whole seconds passed since the last checkpoint ended
//	OVERHEAD  > 0    and no checkpoint was taken yet, or the mean cost c of those
//	                 of this run is less than OVERHEAD percent of the time t since
//	                 the last one ended and c: 100*c/(t+c) < OVERHEAD
//
// With none of the three configured the answer is no (as today's SCR; the first
// ones said yes: [Pace.Always]).
//
// # Should the run end?
//
// [Limits.Check] tests the content of the halt file and the time limit of the
// allocation, in this order:
//
//	TIME_LIMIT            HaltSeconds > 0 and no more than that many seconds remain
//	(the text found)      ExitReason is set. The library goes on if it is
//	                      SCR_FINALIZE_CALLED (a run that ended well says so to the
//	                      run loop, and a new run must be able to start)
//	NO_CHECKPOINTS_LEFT   CheckpointsLeft is there and 0
//	EXIT_BEFORE_TIME      now >= ExitBefore - HaltSeconds
//	EXIT_AFTER_TIME       now >= ExitAfter
//
// Times are whole seconds since 1970. HaltSeconds of the halt file goes before
// the parameter SCR_HALT_SECONDS.
package cadence
