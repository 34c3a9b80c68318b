// Package runloop runs a program in an allocation of several nodes. It restarts the
// program after node failures until it succeeds or there is a reason to stop.
//
//	Run                  the loop; its Report says why it ended: a Stop
//	Local, Command       launchers: processes of this host; mpirun, mpiexec, srun
//	Checker, NodeTest    tests that find unusable nodes: Ping, Echo, Dirs, SlurmDown, Named
//	Here, Shell          how to run commands on a node: Remote
//	Watchdog             ends runs that make no progress
//	FindNodes, Place     nodes of the allocation, and of a run
//
// Run launches the program on the usable nodes. If the program fails, Run tests the nodes,
// pauses, and restarts the program with spare nodes in place of those that are down. The
// loop ends after exit code 0, a halt condition or a signal, if too few nodes are left, or
// if all allowed runs are used. Then Run salvages datasets that exist only in the caches
// of the nodes.
//
// Each started process leads its own process group. To end a run, the loop sends these
// groups a termination signal, and after a grace time a kill signal. On Windows only the
// process itself is killed.
//
// docs/guide-scr.md#the-run-loop describes the nodes, the tests, the reasons to stop, and
// the environment variables that the program gets.
//
// Read first: loop.go, options.go.
package runloop

// The loop has the same steps as SCR's scr_run. A Stop is the reason that ends the loop.
//
//	prepare   create .scr in the prefix directory; remove flush.scr and nodes.scr
//	          of an earlier allocation, and SCR_FINALIZE_CALLED in halt.scr,
//	          which its last run left
//	repeat    halt conditions                                  -> Halted
//	          node tests; a node that fails once stays out
//	          nodes left < nodes needed                        -> TooFewNodes
//	          the node of the loop itself is down              -> OwnNodeDown
//	          launch on the usable nodes; watchdog
//	          node tests
//	          the program ended with exit code 0               -> Done
//	          a signal arrived                                 -> Interrupted
//	          all allowed runs used                           -> NoRunsLeft
//	          halt conditions                                  -> Halted
//	          pause (60 s, for the nodes to clean up)
//	salvage   datasets that exist only in the caches of the nodes
//
// SCR's scr_run restarts a program that ended with exit code 0, unless the halt file
// contains SCR_FINALIZE_CALLED. Here exit code 0 ends the loop too.
