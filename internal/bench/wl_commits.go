package bench

import (
	"context"
	"fmt"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// A history is a dataset of one rank with a record variable of floats, of which some records are committed at a time.
type history struct {
	data    string // its name in tables
	records int64
	elems   int64 // of a record
	durable bool
}

// histories are the large one, whose bytes count, and the long one, whose commits do.
func histories(quick bool) (large, long history) {
	large, long = history{"1 GiB in 20 records", 20, 1 << 30 / 80, true}, history{"10,000 records of 24 bytes", 10_000, 6, false}
	if quick {
		large.elems, long.records = 1000, 100
	}
	return large, long
}

// What the rows of commits are.
const (
	commitOnce  = "write, committed once"
	commitTimes = "write, committed %d times"
	commitEach  = "commit each record"

	firstCommits, lastCommits = "first 5 %", "last 5 %" // phases: the median of a commit
)

// commits measures what it costs to commit while one writes: the bytes of a large dataset committed once and in pieces, all durable, and whether
// the last of many commits costs more than the first.
func (s *session) commits(ctx context.Context) error {
	large, long := histories(s.Quick)
	if err := s.room(4 << 30); err != nil && !s.Quick {
		s.skip(large.data, err)
		return nil
	}
	var list []runner
	for _, l := range layouts {
		for _, n := range []int64{1, 10, 20} {
			list = append(list, s.committed(large, l, n))
		}
		list = append(list, s.committed(long, l, long.records))
	}
	return s.race(ctx, true, list...)
}

func (s *session) committed(h history, l blob.Layout, commits int64) runner {
	name := s.path("c." + l.String())
	clear := func() error { return removeDataset(name) }
	what, bound := fmt.Sprintf(commitTimes, commits), s.rawWritesInstead(clear, rawWriting{writers: writers(), sync: h.durable})
	switch {
	case commits == 1:
		what = commitOnce
	case !h.durable:
		what = commitEach
		bound = func(_ context.Context, r *Row) error {
			r.Note = fmt.Sprintf("one commit: first %s, last %s", Seconds(median(r.Phases[firstCommits])), Seconds(median(r.Phases[lastCommits])))
			return nil
		}
	}
	return runner{
		row:   &Row{Data: h.data, What: what, Who: l.String(), Ranks: 1, Sync: h.durable},
		clear: clear,
		run: func(ctx context.Context) (took Took, err error) {
			err = comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) (err error) {
				took, err = h.write(ctx, c, name, l, commits)
				return err
			})
			if err == nil {
				took.Bytes, err = datasetBytes(ctx, name)
			}
			return took, err
		},
		bound: bound,
	}
}

// write writes the dataset with so many commits, the last of which is Close.
func (h history) write(ctx context.Context, c comm.Comm, name string, l blob.Layout, commits int64) (took Took, err error) {
	schema := blob.NewSchema()
	t, x := schema.Dim("time", blob.Unlimited), schema.Dim("x", h.elems)
	d := schema.Decomp(x)
	v := schema.Var("T", cdf5.Float, []blob.DimID{t, x}, blob.Decomposed(d))
	o := &blob.Options{Layout: l, Retain: blob.LendUntilFlush, Durability: blob.DurableNone}
	if h.durable {
		o.Durability = blob.DurableCommit
	}
	if l == blob.ProcessCentric {
		o.Records = h.records
	}
	data := make([]float32, h.elems)
	for i := range data {
		data[i] = float32(i)
	}
	each := make([]float64, 0, commits)
	start := time.Now()
	w, err := blob.Create(ctx, c, name, schema, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Length: h.elems}}}}, o)
	if err != nil {
		return took, err
	}
	for rec := range h.records {
		if err := blob.Put(w, v, rec, data); err != nil {
			w.Abort()
			return took, err
		}
		before := time.Now()
		if (rec+1)%(h.records/commits) == 0 && rec < h.records-1 {
			err = w.Commit(ctx)
			each = append(each, time.Since(before).Seconds())
		} else {
			err = w.Flush(ctx)
		}
		if err != nil {
			w.Abort()
			return took, err
		}
	}
	if err := w.Close(ctx); err != nil {
		return took, err
	}
	took = Took{Seconds: time.Since(start).Seconds()}
	if n := len(each) / 20; n > 0 {
		took.Phases = map[string]float64{firstCommits: median(each[:n]), lastCommits: median(each[len(each)-n:])}
	}
	return took, nil
}
