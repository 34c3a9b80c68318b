package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/blob/dyn"
	"blobio/internal/comm/verdict"
)

// fCase returns F h0 or h1 at ne=30, or at the smallest size in a quick run. Record variables are float in file and memory, so
// that no conversion is needed.
func (s *session) fCase(history string, ranks int) (Job, string) {
	j := Job{Case: "F_" + history, Ranks: ranks, Float: true, FileMem: true, Maps: MapSource{Ne: 30}}
	if s.Quick {
		j.Maps, j.Ranks = MapSource{Ne: 2, Levels: 3}, max(2, ranks/32)
	}
	return j, fmt.Sprintf("F %s ne%d, %d ranks", history, j.Maps.Ne, j.Ranks)
}

// inProcess makes one runner for each layout. The ranks of a runner are goroutines of this process. All runners use the same
// data.
func (s *session) inProcess(j Job, data, what string, distinct int64) ([]runner, error) {
	t, err := j.load()
	if err != nil {
		return nil, err
	}
	t.Distinct = distinct
	all, err := t.fillAll()
	if err != nil {
		return nil, err
	}
	clear := func() (err error) {
		for _, l := range layouts { // dataset of a warm-up turn
			err = errors.Join(err, removeDataset(s.path("w."+l.String())))
		}
		return err
	}
	var list []runner
	for _, l := range layouts {
		name := s.path("w." + l.String())
		list = append(list, runner{
			row:   &Row{Data: data, What: what, Who: l.String(), Ranks: j.Ranks, Sync: j.Sync},
			clear: clear,
			run: func(ctx context.Context) (Took, error) {
				k, err := t.once(ctx, all, name, t.options(l))
				if err != nil {
					return k, err
				}
				k.Bytes, err = datasetBytes(ctx, name)
				return k, err
			},
			bound: s.rawWritesInstead(clear, rawWriting{writers(), j.Sync, j.Names}),
		})
	}
	return list, nil
}

func (s *session) ne30(ctx context.Context) error {
	for _, ranks := range []int{64, 512} {
		for _, subfiles := range []int{1, 4} {
			j, data := s.fCase("h0", ranks)
			j.Subfiles = min(subfiles, j.Ranks)
			if err := s.room(3 << 30); err != nil && !s.Quick {
				return err
			}
			what := "write"
			if subfiles > 1 {
				what = fmt.Sprintf("write, %d subfiles", j.Subfiles)
			}
			list, err := s.inProcess(j, data, what, 0)
			if err != nil {
				return err
			}
			if err := s.race(ctx, true, list...); err != nil {
				return err
			}
		}
	}
	j, data := s.fCase("h0", 64)
	j.Sync = true
	list, err := s.inProcess(j, data, "write and fsync", 0)
	if err != nil {
		return err
	}
	return s.race(ctx, true, list...)
}

func (s *session) records(ctx context.Context) error {
	records := int64(10)
	if s.Quick {
		records = 2
	}
	for _, flush := range []int64{1, -1} {
		j, data := s.fCase("h1", 64)
		j.Records, j.Flush = records, flush
		what := fmt.Sprintf("write %d records, flush each", records)
		if flush < 0 {
			what = fmt.Sprintf("write %d records, flush once", records)
		}
		list, err := s.inProcess(j, data, what, 0)
		if err != nil {
			return err
		}
		if err := s.race(ctx, true, list...); err != nil {
			return err
		}
	}
	if err := s.appends(ctx, records); err != nil {
		return err
	}
	// The production file with several records, which repeat the same data.
	if err := s.room(12 << 30); err != nil && !s.Quick {
		s.skip("F h0 with 10 records", err)
		return nil
	}
	j, data := s.fCase("h0", 64)
	j.Records = records
	list, err := s.inProcess(j, data, fmt.Sprintf("write %d records, flush each", records), 1)
	if err != nil {
		return err
	}
	return s.race(ctx, false, list...)
}

// appends adds one record to a dataset in each run.
func (s *session) appends(ctx context.Context, records int64) error {
	j, data := s.fCase("h1", 64)
	j.Records = records
	t, err := j.load()
	if err != nil {
		return err
	}
	t.Distinct = 1
	all, err := t.fillAll()
	if err != nil {
		return err
	}
	var list []runner
	for _, l := range layouts {
		name := s.path("a." + l.String())
		if _, err := t.once(ctx, all, name, t.options(l)); err != nil {
			return err
		}
		before, err := datasetBytes(ctx, name)
		if err != nil {
			return err
		}
		list = append(list, runner{
			row: &Row{Data: data, What: "append a record", Who: l.String(), Ranks: j.Ranks},
			run: func(ctx context.Context) (Took, error) {
				o := t.options(l)
				o.Force, o.Records = false, 0
				var took Took
				err := comm.Run(ctx, t.Ranks, nil, func(ctx context.Context, c comm.Comm) error {
					k, err := t.appendOne(ctx, c, all[c.Rank()], name, o)
					if c.Rank() == 0 {
						took.Seconds = k.Seconds()
					}
					return err
				})
				if err != nil {
					return took, verdict.FirstCause(err)
				}
				after, err := datasetBytes(ctx, name)
				took.Bytes, before = after-before, after
				return took, err
			},
			bound: s.rawWrites(rawWriting{writers: writers()}),
		})
	}
	return s.race(ctx, true, list...)
}

// appendOne adds one record. It returns the time on this rank. Because Close waits for all ranks, rank 0's time is valid for all.
func (t *task) appendOne(ctx context.Context, c comm.Comm, data rankData, name string, o *blob.Options) (time.Duration, error) {
	parts := t.parts(c)
	if err := c.Barrier(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	w, err := blob.Append(ctx, c, name, nil, parts, o)
	if err != nil {
		return 0, err
	}
	rec := w.Records()
	for v, recs := range data {
		if t.c.Vars[v].Record && recs[0] != nil {
			id, ok := w.Schema().VarID(t.c.Vars[v].Name) // the existing dataset may have fewer variables
			if !ok {
				w.Abort()
				return 0, fmt.Errorf("unknown variable %q in append", t.c.Vars[v].Name)
			}
			if err := dyn.Put(w, id, rec, recs[0]); err != nil {
				w.Abort()
				return 0, err
			}
		}
	}
	if err := w.Close(ctx); err != nil {
		return 0, err
	}
	return time.Since(start), nil
}
