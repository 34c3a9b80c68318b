package blob

import (
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/decomp"
	"context"
)

// A Collective reads a dataset together with the other ranks of a Comm. One rank reads each piece of maps and data, at least 1
// MiB where possible or 64 KiB if up to 16 ranks read, and sends it to the ranks that need it. Each rank has its own Collective of
// the same dataset, opened with the same options. Only one goroutine at a time may use a Collective. A Collective stays usable after
// a read error.
type Collective struct {
	c     *read.Collective
	ranks comm.Comm
	r     *read.Reader
}

// A ReadPlan lists the elements that one rank reads: runs of flattened canonical indices, one after another, as in
// Reader.ReadRuns. The first Read of a variable with a given decomposition finds the ranks that hold the elements. The plan
// keeps this result for later reads.
type ReadPlan struct{ p *read.ReadPlan }

// Get is one record of a variable, to be read by ReadPlan.Read.
type Get = read.Get

// Plan returns a plan that reads this rank's runs. The list of runs may be empty, and elements may repeat. Ranks may have
// different numbers and lengths of runs. Plan is not collective; Read checks the runs.
func (k *Collective) Plan(runs []decomp.Req) *ReadPlan { return &ReadPlan{k.c.Plan(runs)} }

// Read reads several records of variables at once. All ranks pass the same records and variables in the same order. Collective:
// if Read fails on one rank, it fails on all. A damaged or missing subfile is an error only if some rank needs elements from
// it.
func (p *ReadPlan) Read(ctx context.Context, gets ...Get) error { return p.p.Read(ctx, gets...) }

// Refuse takes part in the other ranks' next Read with an error of this rank, which all ranks return. Collective.
func (k *Collective) Refuse(ctx context.Context, err error) error { return k.c.Refuse(ctx, err) }
