// Package runloop runs a program in an allocation of several nodes, again and
// again while nodes fail, until it ends well or there is a reason to stop.
//
// # The loop
//
// The steps of the original's scr_run; what ends the loop is a Stop.
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
// The original starts a program that ended with exit code 0 again, unless the
// halt file says SCR_FINALIZE_CALLED; here exit code 0 ends the loop too.
//
// # Which nodes
//
// The nodes that a run needs are SCR_MIN_NODES, else as many as nodes.scr says
// that the last run had, else all. It gets Options.Use of them, if that is not
// 0, else as many as it needs. A run is placed where the one before was: a node
// that is down is replaced by a spare one at its place, so that the ranks of
// the others find their files where they are.
//
// # Node tests
//
// Cheap ones first, and each only for nodes that passed all before:
//
//	manager       what the resource manager calls down
//	excluded      SCR_EXCLUDE_NODES
//	named         nodes that the command line calls down
//	ping          an answer within some seconds (left out where no node answers)
//	echo          a command can be run there
//	dir_capacity  the directories of CNTLDIR and CACHEDIR can be listed, the file
//	              system has the BYTES that they name, and a file can be made,
//	              written and removed
//
// SCR_NODE_TESTS says which of the last three are made.
//
// # Environment of the program
//
// All launchers add to the environment of the loop:
//
//	SCR_PREFIX        the prefix directory, absolute
//	SCR_NODELIST      all nodes of the allocation, compressed
//	BLOBIO_RUN        number of the run in this allocation, from 1
//	BLOBIO_RUN_NODES  nodes of this run, parted by commas, in the order of its ranks
//
// The launcher for local processes adds, for each process:
//
//	BLOBIO_RANK        rank of the process, from 0
//	BLOBIO_SIZE        number of processes
//	BLOBIO_LOCAL_RANK  rank among those of its node, from 0
//	BLOBIO_NODE        name of its node
//	BLOBIO_NODE_DIR    private directory of the node, where it has one: what
//	                   scr.Config.NodeRoot wants
//
// With mpirun and srun, ranks come from these (OMPI_COMM_WORLD_RANK, PMI_RANK,
// SLURM_PROCID).
//
// # Ends of processes
//
// Each process that is started here leads a process group of its own, and only
// such groups are ended, by their ids: first by a signal to terminate, after a
// time of grace by one that cannot be caught. When a local process ends with an
// error the others of the run are ended too, as by mpirun. On Windows there are
// no groups, and only the process itself is ended.
//
// # Watchdog
//
// A run that hangs is ended: if flush.scr, index.scr, log and whatever files
// are named stay as they are for SCR_WATCHDOG_TIMEOUT seconds, or for
// SCR_WATCHDOG_TIMEOUT_PFS while flush.scr says that a dataset is being written
// to the parallel file system.
package runloop
