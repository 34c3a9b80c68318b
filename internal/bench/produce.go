package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/dyn"
	"blobio/internal/verdict"
	"blobio/subfile"
)

// produce does one phase of Production in this process.
func (k *Work) produce(ctx context.Context) (t Took, err error) {
	if k.Memory > 0 {
		// What is resident and not Go's: the program, and what its allocator has not given back yet.
		old := debug.SetMemoryLimit(k.Memory - k.Memory/8)
		defer debug.SetMemoryLimit(old)
	}
	cpu := cpuTime()
	switch k.Phase {
	case "write":
		t, err = k.produceData(ctx)
	case "open", "list":
		t, err = k.openList()
	case "check":
		t, err = k.checkAll(ctx)
	case "level":
		t, err = k.levels(ctx)
	case "convert":
		t, err = k.convertSome(ctx)
		if err == nil {
			err = sameLevels(ctx, k.To)
		}
	default:
		err = pkg.Errorf("no phase %q", k.Phase)
	}
	if t.CPU == 0 {
		t.CPU = cpuTime() - cpu
	}
	t.Memory = peakMemory()
	return t, err
}

func (k *Work) tell(done, total int64) {
	if k.At != nil {
		k.At(done, total)
	}
}

// produceData writes the dataset. On the clock are the calls into blob, from Create to Close; all
// ranks wait for each other before it runs again, so that making the data is not.
func (k *Work) produceData(ctx context.Context) (took Took, err error) {
	l, err := blob.ParseLayout(k.Layout)
	if err != nil {
		return took, err
	}
	start := time.Now()
	t, err := k.Job.load()
	if err != nil {
		return took, err
	}
	mapTime := time.Since(start).Seconds()
	opt := &blob.Options{Layout: l, Grouping: subfile.Blocks, Subfiles: t.Subfiles, Force: true, Retain: blob.LendUntilFlush}
	if l == blob.ProcessCentric {
		opt.Records = t.Records
	}
	if !t.Sync {
		opt.Durability = blob.DurableNone
	}
	first := make([]bool, t.Ranks) // of a subfile
	for r := range first {
		first[r] = r == 0 || opt.Grouping.Of(r, t.Ranks, t.Subfiles) != opt.Grouping.Of(r-1, t.Ranks, t.Subfiles)
	}
	list := t.portions(l, first, k.Buffer)
	size, total := int64(0), int64(0)
	for i := range list {
		n := list[i].at[len(list[i].at)-1]
		size, total = max(size, n), total+n
	}
	words := make([]uint64, size/8+1)
	arena := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	clock := map[string]float64{}
	cpu := cpuTime()
	err = comm.Run(ctx, t.Ranks, nil, func(ctx context.Context, c comm.Comm) (err error) {
		rank := c.Rank()
		timed := func(what string, f func() error) error {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			start := time.Now()
			var err error
			if what == "data" {
				err = f()
			} else {
				err = f()
			}
			if rank == 0 {
				clock[what] += time.Since(start).Seconds()
			}
			return err
		}
		var w *blob.Writer
		parts := t.parts(c)
		if err := timed("create", func() (err error) { w, err = blob.Create(ctx, c, k.Path, t.s, parts, opt); return err }); err != nil {
			return err
		}
		parts = nil // most of the memory of a map is here
		defer func() {
			if err != nil {
				w.Abort()
			}
		}()
		written := int64(0)
		for i := range list {
			p := &list[i]
			small := map[int]any{}
			if err := timed("data", func() error {
				err := t.walk(p, arena, rank, first[rank], func(v int, data any) error {
					cv := &t.c.Vars[v]
					if cv.Map == 0 {
						_, mem := t.types(cv)
						small[v] = cdf5.NewSlice(mem, int(t.c.Elems(v)))
						return t.values.Fill(small[v], v, 0, t.c.Whole(v), rank)
					}
					return t.values.Fill(data, v, 0, t.maps[cv.Map-1].Reqs(rank), rank)
				})
				if err == nil {
					err = c.Barrier(ctx)
				}
				return err
			}); err != nil {
				return err
			}
			if err := timed("flush", func() error {
				if err := t.walk(p, arena, rank, first[rank], func(v int, data any) error {
					if data == nil {
						data = small[v]
					}
					return dyn.Put(w, blob.VarID(v), 0, data)
				}); err != nil {
					return err
				}
				return w.Flush(ctx)
			}); err != nil {
				return err
			}
			if written += p.at[len(p.at)-1]; rank == 0 {
				k.tell(written, total)
			}
		}
		return timed("close", func() error { return w.Close(ctx) })
	})
	runtime.KeepAlive(words)
	if err != nil {
		return took, verdict.FirstCause(err)
	}
	maps := int64(0)
	for _, m := range t.maps {
		maps += m.MemSize()
	}
	took = Took{Seconds: clock["create"] + clock["flush"] + clock["close"], CPU: cpuTime() - cpu, Data: size, Phases: clock,
		Note: fmt.Sprintf("flushes: %d; not on the clock: maps %s (%d MiB in memory), data %s", len(list), Seconds(mapTime), maps>>20, Seconds(clock["data"]))}
	delete(clock, "data")
	took.Bytes, err = datasetBytes(ctx, k.Path)
	return took, err
}
