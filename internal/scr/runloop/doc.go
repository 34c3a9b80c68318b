// Package runloop runs a program in an allocation of several nodes, again and again
// while nodes fail, until it ends well or there is a reason to stop.
//
//	Run                  the loop; its Report says why it ended: a Stop
//	Local, Command       launchers: processes of this host; mpirun, mpiexec, srun
//	Checker, NodeTest    which nodes cannot be used: Ping, Echo, Dirs, SlurmDown, Named
//	Here, Shell          how to do something on a node: Remote
//	Watchdog             ends runs that make no progress
//	FindNodes, Place     nodes of the allocation, and of a run
//
// Run launches the program, without bad nodes; when it ended with an error, tests
// the nodes, pauses, and starts it again with spare nodes in the places of those
// that are down. Exit code 0, a halt condition, a signal, too few nodes, or too many
// runs end the loop. Then what is only in the caches of the nodes is salvaged.
//
// Each process that is started here leads a process group of its own, and only such
// groups are ended, by their ids: first by a signal to terminate, after a time of
// grace by one that cannot be caught. On Windows only the process itself is ended.
//
// docs/guide-scr.md#the-run-loop has nodes, tests, ends, and the variables that the
// program gets.
//
// Read first: loop.go, options.go.
package runloop

// The loop has the steps of the original's scr_run; what ends it is a Stop.
//
//	prepare   .scr in the prefix directory; flush.scr and nodes.scr of an
//	          earlier allocation are removed, and SCR_FINALIZE_CALLED in
//	          halt.scr, which its last run left there
//	repeat    halt conditions                                  -> Halted
//	          node tests; who once failed stays out
//	          nodes left < nodes needed                        -> TooFewNodes
//	          the node of the loop itself is down              -> OwnNodeDown
//	          launch, without the bad nodes; watchdog
//	          node tests
//	          the program ended with exit code 0               -> Done
//	          a signal came                                    -> Interrupted
//	          as many runs as allowed                          -> NoRunsLeft
//	          halt conditions                                  -> Halted
//	          pause (60 s, for the nodes to clean up)
//	salvage   what is only in the caches of the nodes
//
// The original starts a program that ended with exit code 0 again, unless the halt
// file says SCR_FINALIZE_CALLED; here exit code 0 ends the loop too.
