package bench

import (
	"context"
	"errors"
	"runtime"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/dyn"
	"blobio/internal/verdict"
)

// cores is how many goroutines run at the same time.
func cores() int { return runtime.GOMAXPROCS(0) }

// Took is what one run of a job took.
type Took struct {
	Seconds float64 // of the slowest rank, open to close
	CPU     float64
	Phases  map[string]float64
	Bytes   int64 // of the files
}

// phases of a write, in order.
var writePhases = []string{"create", "put", "flush", "close", "compute"}

// write does one rank's part of a job: open to close on the clock, all else
// outside. The result of rank 0 is that of all.
func (t *task) write(ctx context.Context, c comm.Comm, data rankData, path string, o *blob.Options) (took Took, err error) {
	parts := t.parts(c)
	var clock [5]float64
	if err := c.Barrier(ctx); err != nil {
		return took, err
	}
	start := time.Now()
	since := start
	next := func(phase int) {
		now := time.Now()
		clock[phase] += now.Sub(since).Seconds()
		since = now
	}
	schema, err := t.schema(ctx, c)
	if err != nil {
		return took, err
	}
	w, err := blob.Create(ctx, c, path, schema, parts, o)
	if err != nil {
		return took, err
	}
	defer func() {
		if err != nil {
			w.Abort()
		}
	}()
	next(0)
	put := func(record bool, rec int64) error {
		for v, recs := range data {
			if t.c.Vars[v].Record == record && recs[rec%int64(len(recs))] != nil {
				if err := dyn.Put(w, blob.VarID(v), rec, recs[rec%int64(len(recs))]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := put(false, 0); err != nil {
		return took, err
	}
	flush := w.Flush
	if t.async {
		flush = w.FlushAsync
	}
	for rec := range t.Records {
		if t.compute > 0 {
			runtime.KeepAlive(spin(t.compute))
			next(4)
		}
		if err := put(true, rec); err != nil {
			return took, err
		}
		next(1)
		if t.Flush > 0 && (rec+1)%t.Flush == 0 && rec+1 < t.Records {
			if err := flush(ctx); err != nil {
				return took, err
			}
			next(2)
		}
	}
	if err := flush(ctx); err != nil {
		return took, err
	}
	next(2)
	if err := w.Close(ctx); err != nil {
		return took, err
	}
	next(3)
	all, err := comm.Allreduce(ctx, c, append(clock[:], since.Sub(start).Seconds()), comm.Max)
	if err != nil {
		return took, err
	}
	took.Seconds = all[5]
	took.Phases = map[string]float64{}
	for i, name := range writePhases {
		if i < 4 || t.compute > 0 {
			took.Phases[name] = all[i]
		}
	}
	return took, nil
}

// schema defines what is written, on the clock.
func (t *task) schema(ctx context.Context, c comm.Comm) (s *blob.Schema, err error) {
	if c.Rank() == 0 {
		s, err = t.c.Schema(t.Float)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	all, err := c.Share(ctx, s)
	if err != nil {
		return nil, err
	}
	return all[0].(*blob.Schema), nil
}

// once writes the job by ranks of this process, with data that are there already.
func (t *task) once(ctx context.Context, data []rankData, path string, o *blob.Options) (Took, error) {
	var took Took
	runtime.GC()
	cpu := cpuTime()
	err := comm.Run(ctx, t.Ranks, nil, func(ctx context.Context, c comm.Comm) error {
		k, err := t.write(ctx, c, data[c.Rank()], path, o)
		if c.Rank() == 0 {
			took = k
		}
		return err
	})
	took.CPU = cpuTime() - cpu
	return took, verdict.FirstCause(err)
}

// errSkip is wrapped by what cannot be measured here.
var errSkip = errors.New("not measured")
