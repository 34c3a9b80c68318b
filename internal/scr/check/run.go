package check

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"

	"blobio/internal/base/fault"
)

// Options configure Prefix and Caches. nil or the zero value checks everything.
type Options struct {
	Quick   bool // check only metadata and sizes: read no files
	Dataset int  // check only the files of the dataset with this number; 0: all datasets
	Workers int  // number of files read at once; default: the number of CPUs, at most 16
	// Progress gets the number of bytes that were read of a node or of the prefix directory. Several goroutines call
	// Progress, often.
	Progress func(node int, done, total int64)
	// Seen gets the totals of a node, or of the prefix directory (node 0), after the last finding about it.
	Seen func(node int, s Seen)
}

// Seen counts the checked objects.
type Seen struct {
	Datasets int
	Files    int
	Bytes    int64 // size of the files
	Verified int64 // bytes that match a checksum
}

type run struct {
	ctx context.Context
	o   Options
	col *fault.Collector
}

// check runs look and returns its findings as a sequence. If look returns an error, the last finding has a
// *LookError.
func check(ctx context.Context, what string, o *Options, look func(*run) error) iter.Seq[Finding] {
	return fault.Collect(ctx, nil, func(col *fault.Collector) {
		r := &run{ctx: col.Context(), col: col}
		if o != nil {
			r.o = *o
		}
		if r.o.Workers <= 0 {
			r.o.Workers = min(runtime.NumCPU(), 16)
		}
		if err := look(r); err != nil {
			col.Add(Finding{Severity: Error, File: what, Offset: -1, Found: err.Error(), Err: &LookError{err}})
		}
	})
}

// checked is the prefix directory or a node that is being checked.
type checked struct {
	*run
	index int
	node  fault.Number
	seen  Seen
	jobs  []job
}

func (c *checked) add(f Finding) { c.col.Add(c.here(f)) }

// here sets the node of a finding.
func (c *checked) here(f Finding) Finding {
	f.Node = c.node
	return f
}

func (c *checked) say(sev Severity, id int, file, field, found, wanted string) {
	c.add(Finding{Severity: sev, Dataset: number(id), File: file, Offset: -1, Field: field, Found: found, Wanted: wanted})
}

// skips reports whether the check leaves out a dataset: Options exclude it, or the check has stopped.
func (r *run) skips(id int) bool { return r.col.Stopped() || r.o.Dataset > 0 && r.o.Dataset != id }

// job reads a file, or a part of one.
type job struct {
	size int64
	sums bool // the job compares all bytes with checksums
	do   func(ctx context.Context, read func(n int)) []Finding
}

// read runs the jobs of a node or prefix directory, several at once.
func (c *checked) read() error {
	var total int64
	for _, j := range c.jobs {
		total += j.size
	}
	var bytes, verified atomic.Int64
	count := func(n int) {
		if done := bytes.Add(int64(n)); c.o.Progress != nil {
			c.o.Progress(c.index, done, total)
		}
	}
	c.col.Each(len(c.jobs), c.o.Workers, func(i int, add func(Finding) bool) {
		list := c.jobs[i].do(c.ctx, count)
		if c.jobs[i].sums && len(list) == 0 {
			verified.Add(c.jobs[i].size)
		}
		for _, f := range list {
			add(c.here(f))
		}
	})
	c.seen.Verified += verified.Load()
	return c.ctx.Err()
}

// end runs the jobs and reports the totals.
func (c *checked) end() error {
	if c.col.Stopped() {
		return nil
	}
	if err := c.read(); err != nil || c.col.Stopped() {
		return err
	}
	if c.o.Seen != nil {
		c.o.Seen(c.index, c.seen)
	}
	return nil
}
