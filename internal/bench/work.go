package bench

import (
	"context"
	"errors"
	"runtime"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/blob/dyn"
	"blobio/internal/comm/verdict"
)

// cores returns the number of goroutines that run at the same time.
func cores() int { return runtime.GOMAXPROCS(0) }

// Took is the result of one run of a job.
type Took struct {
	Seconds float64 // of the slowest rank, from open to close
	CPU     float64
	Phases  map[string]float64
	Bytes   int64 // size of the files
}

// writePhases are the names of the write phases in results, by number.
var writePhases = map[int]string{phaseCreate: "create", phaseCompute: "compute", phasePost: "put", phaseFlush: "flush", phaseClose: "close"}

// clock holds the times of the phases of a run on one rank, in seconds, by number.
type clock [7]float64

// timed adds the duration of f to a phase.
func (k *clock) timed(phase int, f func() error) error {
	t := time.Now()
	err := f()
	k[phase] += time.Since(t).Seconds()
	return err
}

// writing describes how a rank writes its data.
type writing struct {
	path    string
	o       *blob.Options
	async   bool                            // flush in the background
	compute func(ctx context.Context) error // runs before each record; nil: nothing
	failure func(rank int) error            // tests
}

// write writes the dataset. A rank whose put fails still takes part in collective calls; all ranks learn of the error at the end.
func (t *task) write(ctx context.Context, c comm.Comm, s *blob.Schema, data rankData, x writing, k *clock) (err error) {
	parts := t.parts(c)
	var w *blob.Writer
	if err := k.timed(phaseCreate, func() (err error) { w, err = blob.Create(ctx, c, x.path, s, parts, x.o); return err }); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.Abort()
		}
	}()
	var failed error
	put := func(record bool, rec int64) {
		_ = k.timed(phasePost, func() error {
			for v, recs := range data {
				if t.c.Vars[v].Record != record || len(recs) == 0 || recs[rec%int64(len(recs))] == nil || failed != nil {
					continue
				}
				failed = dyn.Put(w, blob.VarID(v), rec, recs[rec%int64(len(recs))])
			}
			return nil
		})
	}
	flush := w.Flush
	if x.async {
		flush = w.FlushAsync
	}
	put(false, 0)
	if x.failure != nil && failed == nil {
		failed = x.failure(c.Rank())
	}
	for rec := range t.Records {
		if x.compute != nil {
			if err := k.timed(phaseCompute, func() error { return x.compute(ctx) }); err != nil && failed == nil {
				failed = err
			}
		}
		put(true, rec)
		if rec+1 == t.Records || t.Flush > 0 && (rec+1)%t.Flush == 0 {
			if err := k.timed(phaseFlush, func() error { return flush(ctx) }); err != nil {
				return err
			}
		}
	}
	if err := comm.Agree(ctx, c, failed); err != nil {
		return err
	}
	return k.timed(phaseClose, func() error { return w.Close(ctx) })
}

// measure does one rank's part of a job. The time runs from open to close. The result of rank 0 counts for all.
func (t *task) measure(ctx context.Context, c comm.Comm, data rankData, path string, o *blob.Options) (took Took, err error) {
	x := writing{path: path, o: o, async: t.async}
	if t.compute > 0 {
		x.compute = func(context.Context) error { runtime.KeepAlive(spin(t.compute)); return nil }
	}
	if err := c.Barrier(ctx); err != nil {
		return took, err
	}
	var k clock
	start := time.Now()
	var s *blob.Schema
	if err := k.timed(phaseCreate, func() (err error) { s, err = t.schema(ctx, c); return err }); err != nil {
		return took, err
	}
	if err := t.write(ctx, c, s, data, x, &k); err != nil {
		return took, err
	}
	all, err := comm.Allreduce(ctx, c, append(k[:], time.Since(start).Seconds()), comm.Max)
	if err != nil {
		return took, err
	}
	took.Seconds = all[len(k)]
	took.Phases = map[string]float64{}
	for i, name := range writePhases {
		if i != phaseCompute || t.compute > 0 {
			took.Phases[name] = all[i]
		}
	}
	return took, nil
}

// schema defines the variables, within the measured time.
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

// once writes the job with ranks of this process and existing data.
func (t *task) once(ctx context.Context, data []rankData, path string, o *blob.Options) (Took, error) {
	var took Took
	runtime.GC()
	cpu := cpuTime()
	err := comm.Run(ctx, t.Ranks, nil, func(ctx context.Context, c comm.Comm) error {
		k, err := t.measure(ctx, c, data[c.Rank()], path, o)
		if c.Rank() == 0 {
			took = k
		}
		return err
	})
	took.CPU = cpuTime() - cpu
	return took, verdict.FirstCause(err)
}

// timed measures f.
func timed(f func() error) (Took, error) {
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	err := f()
	return Took{Seconds: time.Since(start).Seconds(), CPU: cpuTime() - cpu}, err
}

// errSkip is wrapped by errors of measurements that are impossible here.
var errSkip = errors.New("not measured")
