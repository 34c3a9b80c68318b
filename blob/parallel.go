package blob

import "blobio/internal/par"

func inParallel(workers, n int, f func(i int)) { par.Do(workers, n, f) }
