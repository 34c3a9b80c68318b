// Package levels keeps versions of arrays at the levels of an scr.Session: in the caches of the nodes, protected there by a redundancy
// scheme, and in the prefix directory of the parallel file system. So versions in the memory of the ranks, which are cheap and many,
// outlive the job: from time to time one of them is committed to the session.
//
//	st := levels.New(c, session, nil)
//	arrays, ok, err := st.Restart(ctx, nil, nil)            // arrays in memory, as they were in the newest dataset that is whole
//	n, err := a.Inc(ctx, 1, "")                             // a version in memory
//	err = st.Commit(ctx, "step 40", scr.Checkpoint, versioned.Part{Array: a, Version: n})
//
// A dataset has one file for each rank, NAME/rank_R.fti: an FTI-FF container (layout F, fast hashes) with, for part i, the variables 2i, a
// versioned.Piece as JSON, and 2i+1, its elements. The session decides when a dataset is protected, flushed and deleted; it restarts on the
// same number of ranks from the caches, and on any number from the prefix directory.
package levels
