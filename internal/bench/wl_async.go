package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"blobio/blob"
)

// spin is computation and nothing else: n steps that each need the one before.
func spin(n int64) uint64 {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// spinRate is how many steps of spin one goroutine does in a second while n of them run.
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

// overlap is a job that is done in three ways: writing alone, each flush between
// as much computation of every rank as the writing alone took, and the same with flushes in the background.
type overlap struct {
	t    *task
	data []rankData
	rate float64 // of spin
	io   float64 // seconds of the last run of writing alone
}

// What an overlap does.
const (
	asyncAlone = "write, no computation"
	asyncSync  = "compute and write in turn"
	asyncBoth  = "compute and write, FlushAsync"
)

func newOverlap(j Job) (*overlap, error) {
	t, err := j.load()
	if err != nil {
		return nil, err
	}
	t.Distinct = 2 // sets of arrays, used in turn
	data, err := t.fillAll()
	if err != nil {
		return nil, err
	}
	return &overlap{t: t, data: data, rate: spinRate(j.Ranks)}, nil
}

// run does it in one of the ways.
func (v *overlap) run(ctx context.Context, what, name string, o *blob.Options) (Took, error) {
	if err := removeDataset(name); err != nil {
		return Took{}, err
	}
	t := *v.t
	if what != asyncAlone {
		t.compute = int64(v.io / float64(t.Records) * v.rate)
	}
	t.async = what == asyncBoth
	k, err := t.once(ctx, v.data, name, o)
	if what == asyncAlone {
		v.io = k.Seconds
	}
	return k, err
}

// async measures flushes in the background: with one rank, so that the I/O has the other cores, and with
// one on each core.
func (s *session) async(ctx context.Context) error {
	syncs := []bool{false, true}
	if fs, _ := fileSystem(s.dir); fs == "tmpfs" {
		syncs = syncs[:1] // nothing to be synced
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

// asyncRecords of a job with flushes in the background.
const asyncRecords = 12

// asyncData names the data: the case at a size of which a record has 67 MB.
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
		for _, what := range []string{asyncAlone, asyncSync, asyncBoth} {
			r := runner{
				row:   &Row{Data: data, What: what + end, Who: l.String(), Ranks: ranks, As: "goroutines", Sync: sync},
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
			case asyncAlone:
				r.bound = s.rawWritesInstead(name, writers(), sync)
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

// overlapped is what a row that computes and writes in turn would take with all the I/O hidden that can be: what is created before, and the flush of
// the last record, which comes after all computation, cannot.
func overlapped(turn *Row, records int64) float64 {
	compute := median(turn.Phases["compute"])
	io := turn.Median() - compute
	first := median(turn.Phases["create"])
	return first + max(compute, io-first) + min(compute, io-first)/float64(records)
}

// asyncSlack is how much more than the ideal rate one may measure when both parts take as long on another day.
const asyncSlack = 1.1

// asyncMarks compare the rows of each number of ranks.
func (t table) asyncMarks() (out []Mark) {
	for _, sync := range []bool{false, true} {
		end := ""
		if sync {
			end = ", fsync"
		}
		ranks := []int{1}
		for _, r := range t {
			if r.Workload == "async" && r.Ranks > ranks[len(ranks)-1] {
				ranks = append(ranks, r.Ranks)
			}
		}
		if len(ranks) == 1 {
			ranks = append(ranks, cores())
		}
		for _, n := range ranks {
			for _, who := range []string{vcName, pcName} {
				_, data := asyncJob(false, n, sync)
				m := Mark{What: fmt.Sprintf("%s: FlushAsync, %s as long as the I/O takes%s", who, computing(n), end), Want: "none: every core computes"}
				if n < cores() || sync {
					m.Want = "at least 0.9 of the ideal rate"
				}
				if a, b := t.find("async", data, asyncSync+end, who, n), t.find("async", data, asyncBoth+end, who, n); a != nil && b != nil && len(a.Phases["compute"]) > 0 {
					ideal := overlapped(a, asyncRecords)
					x := ideal / b.Median()
					m.Measured, m.Good = fmt.Sprintf("%.2f (%s; ideal %s, in turn %s)", x, Seconds(b.Median()), Seconds(ideal), Seconds(a.Median())), x >= 0.9
					if x > asyncSlack { // computation hides as much I/O as there is, and no more
						m.Measured, m.Good = m.Measured+"; more than 1 cannot be, the rows were disturbed", false
					}
				}
				out = append(out, m)
			}
		}
	}
	return out
}
