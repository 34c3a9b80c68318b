package blob

import "blobio/internal/par"

// parallel calls f(0..n-1) from the reader's workers and waits for all.
func (r *Reader) parallel(n int, f func(i int)) { inParallel(r.opt.Workers, n, f) }

func inParallel(workers, n int, f func(i int)) { par.Do(workers, n, f) }
