package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"blobio/blob"
)

// spin computes n steps without I/O. Each step depends on the previous one.
func spin(n int64) uint64 {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// spinRate returns the number of spin steps per second of one goroutine while n of them run.
func spinRate(n int) float64 {
	const steps = 5e6
	best := 0.0
	for range 5 {
		start := time.Now()
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { runtime.KeepAlive(spin(steps)) })
		}
		wg.Wait()
		best = max(best, steps/time.Since(start).Seconds())
	}
	return best
}

// overlap measures a job in three ways. The first way writes without computing, on the cores that computing ranks would leave
// idle. The second way computes and flushes in turn, where the computation takes as long as the first way. The third way does
// the same with background flushes.
type overlap struct {
	t    *task
	data []rankData
	rate float64 // spin steps per second
	idle int     // number of cores without a computing rank
	io   float64 // seconds of the last run without computation
}

// The measurements of an overlap, as in Row.What.
const (
	asyncAlone = "write, no computation"                   // on all cores
	asyncIdle  = "write on the idle cores, no computation" // GOMAXPROCS limits the cores
	asyncSync  = "compute and write in turn"
	asyncBoth  = "compute and write, FlushAsync"
)

func newOverlap(j Job) (*overlap, error) {
	t, err := j.load()
	if err != nil {
		return nil, err
	}
	t.Distinct = 2 // two sets of arrays, used in turn
	data, err := t.fillAll()
	if err != nil {
		return nil, err
	}
	return &overlap{t: t, data: data, rate: spinRate(j.Ranks), idle: cores() - j.Ranks}, nil
}

// ways lists the measurements in order. Writing without computation comes first, because its time determines the length of
// the computations.
func (v *overlap) ways() []string {
	if v.idle > 0 {
		return []string{asyncIdle, asyncSync, asyncBoth}
	}
	return []string{asyncAlone, asyncSync, asyncBoth}
}

func (v *overlap) run(ctx context.Context, what, name string, o *blob.Options) (Took, error) {
	if err := removeDataset(name); err != nil {
		return Took{}, err
	}
	t := *v.t
	alone := what == asyncAlone || what == asyncIdle
	if !alone {
		t.compute = int64(v.io / float64(t.Records) * v.rate)
	}
	t.async = what == asyncBoth
	if what == asyncIdle {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(v.idle))
	}
	k, err := t.once(ctx, v.data, name, o)
	if alone {
		v.io = k.Seconds
	}
	return k, err
}

// async measures background flushes: with one rank, so that I/O gets the other cores, and with one rank per core.
func (s *session) async(ctx context.Context) error {
	syncs := []bool{false, true}
	if fs, _ := fileSystem(s.dir); fs == "tmpfs" {
		syncs = syncs[:1] // sync has no effect in memory
	}
	ranks := []int{1}
	if n := cores(); n > 1 {
		ranks = append(ranks, n)
	}
	for _, sync := range syncs {
		for _, n := range ranks {
			if err := s.overlap(ctx, n, sync); err != nil {
				return err
			}
		}
	}
	return nil
}

// asyncRecords is the number of records of a job with background flushes.
const asyncRecords = 12

// asyncJob returns the job and the name of its data: the case with 67 MB per record.
func asyncJob(quick bool, ranks int, sync bool) (Job, string) {
	j := Job{Case: "F_h0", Ranks: ranks, Records: asyncRecords, Float: true, FileMem: true, Sync: sync, Maps: MapSource{Ne: 8}}
	if quick {
		j.Maps, j.Records = MapSource{Ne: 2, Levels: 3}, 3
	}
	return j, fmt.Sprintf("F h0 ne%d, %d records, %s", j.Maps.Ne, j.Records, computing(ranks))
}

func computing(ranks int) string {
	switch {
	case ranks == 1:
		return "1 rank computes"
	case ranks == cores():
		return fmt.Sprintf("%d ranks compute, on every core", ranks)
	}
	return fmt.Sprintf("%d ranks compute", ranks)
}

func (s *session) overlap(ctx context.Context, ranks int, sync bool) error {
	j, data := asyncJob(s.Quick, ranks, sync)
	if err := s.room(4 << 30); err != nil && !s.Quick {
		s.skip(data, err)
		return nil
	}
	end := ""
	if sync {
		end = ", fsync"
	}
	var list []runner
	for _, l := range layouts {
		v, err := newOverlap(j)
		if err != nil {
			return err
		}
		name := s.path("o." + l.String())
		var turn *Row
		for _, what := range v.ways() {
			r := runner{
				row:   &Row{Data: data, What: what + end, Who: l.String(), Ranks: ranks, Sync: sync},
				clear: func() error { return removeDataset(name) },
				run: func(ctx context.Context) (Took, error) {
					k, err := v.run(ctx, what, name, v.t.options(l))
					if err != nil {
						return k, err
					}
					k.Bytes, err = datasetBytes(ctx, name)
					return k, err
				},
			}
			switch what {
			case asyncAlone, asyncIdle:
				r.bound = s.rawWritesInstead(r.clear, rawWriting{writers: writers(), sync: sync})
			case asyncSync:
				turn = r.row
			case asyncBoth:
				r.bound = func(_ context.Context, r *Row) error {
					r.Note = fmt.Sprintf("%.2f times the rate of Flush", turn.Median()/r.Median())
					return nil
				}
			}
			list = append(list, r)
		}
	}
	return s.race(ctx, true, list...)
}
