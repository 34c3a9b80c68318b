package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/internal/blob/dyn"
	"blobio/internal/comm/verdict"
)

// cores is the number of goroutines that run at the same time.
func cores() int { return runtime.GOMAXPROCS(0) }

// Took is the cost of one run of a job. Peers print the same as JSON.
type Took struct {
	Library string             `json:"library,omitempty"`
	Seconds float64            `json:"seconds"`     // of the slowest rank, open to close
	CPU     float64            `json:"cpu_seconds"` // of all processes
	Data    int64              `json:"data"`        // bytes that the ranks hold
	Memory  int64              `json:"memory"`      // most bytes resident while writing beyond what was before, of all processes; 0: not known
	Phases  map[string]float64 `json:"phases,omitempty"`
	Bytes   int64              `json:"bytes,omitempty"` // of the files
	Note    string             `json:"note,omitempty"`
}

// phases of a write, in order.
var writePhases = []string{"create", "put", "flush", "close"}

// write does one rank's part of a job: open to close on the clock, all else
// outside. The result of rank 0 stands for all.
func (t *task) write(ctx context.Context, c comm.Comm, data rankData, path string, o *blob.Options) (took Took, err error) {
	parts := t.parts(c)
	var clock [4]float64
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
	for rec := range t.Records {
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
	took.Seconds = all[4]
	took.Phases = map[string]float64{}
	for i, name := range writePhases {
		took.Phases[name] = all[i]
	}
	return took, nil
}

// schema defines the variables, on the clock as for peers: each process for itself, ranks of one process once.
func (t *task) schema(ctx context.Context, c comm.Comm) (s *blob.Schema, err error) {
	if comm.Apart(c) {
		return t.c.Schema(t.Float)
	}
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

// Work is what a worker does: a process of its own, or one of several.
type Work struct {
	Op     string `json:"op"` // "write" (default) or "convert"
	Job    Job    `json:"job"`
	Layout string `json:"layout"`
	Path   string `json:"path"`

	// Op convert: from Path to a canonical file.
	To string `json:"to,omitempty"`

	// Op encode, rebuild, complete, floors: of files of Bytes bytes of each rank, below Path.
	Scheme string `json:"scheme,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// Engine runs one function for each rank; processes: the ranks are processes.
type Engine struct {
	Ranks     int
	Processes bool
	Run       func(ctx context.Context, f func(context.Context, comm.Comm) error) error
}

// Goroutines is the engine of ranks that share this process.
func Goroutines(n int) Engine {
	return Engine{Ranks: n, Run: func(ctx context.Context, f func(context.Context, comm.Comm) error) error {
		return comm.Run(ctx, n, nil, f)
	}}
}

// Do does the work and returns what it took; under MPI only rank 0's answer counts.
func (k *Work) Do(ctx context.Context, e Engine) (Took, error) {
	switch k.Op {
	case "convert":
		return k.convert(ctx)
	case opEncode, opRebuild, opFloor, opFloorRebuild:
		return k.protect(ctx, e)
	case opComplete:
		return k.complete(ctx, e)
	case "", "write":
		return k.write(ctx, e)
	}
	return Took{}, fmt.Errorf("no work %q", k.Op)
}

func (k *Work) write(ctx context.Context, e Engine) (took Took, err error) {
	var l blob.Layout
	if err := l.Set(k.Layout); err != nil {
		return took, err
	}
	k.Job.Ranks = e.Ranks
	t, err := k.Job.load()
	if err != nil {
		return took, err
	}
	var once sync.Once
	var gauge gauge
	err = e.Run(ctx, func(ctx context.Context, c comm.Comm) error {
		data, err := t.fill(c.Rank())
		if err != nil {
			return err
		}
		lent, err := comm.AllreduceOne(ctx, c, data.bytes(), comm.Sum)
		if err != nil {
			return err
		}
		once.Do(func() { gauge.start() }) // one for a process
		mine, err := t.write(ctx, c, data, k.Path, t.options(l))
		if err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if !e.Processes {
			if c.Rank() == 0 {
				took = mine
				took.Data = lent
				took.CPU, took.Memory = gauge.stop()
			}
			runtime.KeepAlive(data)
			return nil
		}
		cpu, memory := gauge.stop()
		runtime.KeepAlive(data)
		if cpu, err = comm.AllreduceOne(ctx, c, cpu, comm.Sum); err != nil {
			return err
		}
		if memory, err = comm.AllreduceOne(ctx, c, memory, comm.Sum); err != nil {
			return err
		}
		if c.Rank() == 0 {
			took = mine
			took.Data, took.CPU, took.Memory = lent, cpu, memory
		}
		return nil
	})
	return took, verdict.FirstCause(err)
}

func (k *Work) convert(ctx context.Context) (took Took, err error) {
	var g gauge
	g.start()
	start := time.Now()
	r, err := blob.Open(ctx, k.Path, nil)
	if err != nil {
		return took, err
	}
	defer r.Close()
	if err := blob.Convert(ctx, r, k.To, &blob.ConvertOptions{Force: true, Durability: blob.DurableNone}); err != nil {
		return took, err
	}
	took.Seconds = time.Since(start).Seconds()
	took.CPU, took.Memory = g.stop()
	return took, nil
}

// gauge measures processor time and the most memory of this process.
type gauge struct {
	cpu      float64
	resident int64
}

func (g *gauge) start() {
	runtime.GC()
	debug.FreeOSMemory()
	g.resident = forgetPeak()
	g.cpu = cpuTime()
}

func (g *gauge) stop() (cpu float64, memory int64) {
	cpu = cpuTime() - g.cpu
	if peak := peakMemory(); peak > 0 && g.resident > 0 {
		memory = peak - g.resident
	}
	return cpu, memory
}

// errSkip is the class of errors about impossible measurements.
var errSkip = errors.New("not measured")

// errNoMPI means that this program cannot be a process of mpirun.
var errNoMPI = fmt.Errorf("built without -tags mpi: %w", errSkip)

// LoadWork reads the task of a worker.
func LoadWork(name string) (*Work, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	w := new(Work)
	if err := json.Unmarshal(b, w); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}
