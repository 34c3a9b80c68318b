package blob

import (
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/decomp"
	"context"
)

// A Collective reads a dataset together with the other ranks of a Comm. Ranks share the maps and data among themselves: each part of them is
// read by one rank, in pieces of at least 1 MiB where there is as much, and sent to those who want it. Each rank has its own Collective of
// the same dataset, opened with the same options; one goroutine uses it at a time. It stays usable after an error of a read.
type Collective struct {
	c     *read.Collective
	ranks comm.Comm
	r     *read.Reader
}

// A ReadPlan is what one rank wants of variables: the elements of runs of flattened canonical indices, one run after the other, as with
// Reader.ReadRuns. The first Read of a variable of each decomposition finds the ranks that have them, and the plan keeps the answer.
type ReadPlan struct{ p *read.ReadPlan }

// Get is one record of a variable that a ReadPlan reads.
type Get = read.Get

// Plan returns a plan of this rank's runs, which may be none, repeat elements, and differ in number and length from the runs of other ranks. It
// is not collective; runs are checked by Read.
func (k *Collective) Plan(runs []decomp.Req) *ReadPlan { return &ReadPlan{k.c.Plan(runs)} }

// Read reads several records of variables at once, the same ones in the same order on all ranks. Collective: if it fails on one rank it does
// on all. Of damaged or missing subfiles only elements that one of the ranks wants are an error.
func (p *ReadPlan) Read(ctx context.Context, gets ...Get) error { return p.p.Read(ctx, gets...) }
