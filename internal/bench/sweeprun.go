package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/par"
)

// SweepPhases are the phases of a run, in order. create, close and open are single calls; post is the total of all Put calls;
// read is the total of all reads.
var SweepPhases = []string{"create", "compute", "post", "flush", "close", "open", "read"}

const (
	phaseCreate = iota
	phaseCompute
	phasePost
	phaseFlush
	phaseClose
	phaseOpen
	phaseRead
)

// Spread is the minimum, mean and maximum of a time over the ranks, in seconds.
type Spread struct {
	Min float64 `json:"min"`
	Avg float64 `json:"avg"`
	Max float64 `json:"max"`
}

// sweepRank is one rank's part of one run.
type sweepRank struct {
	*task
	plan      *SweepPlan
	pt        SweepPoint
	c, node   comm.Comm
	nodes     int
	path      string
	processes bool
	failure   func(rank int) error // tests
	clock     clock
	verified  int64
	reqs      [][]decomp.Req // requests for reading, by map
}

// do writes, reads and verifies. On rank 0 it stores the results. An error of one rank is returned on all ranks.
func (k *sweepRank) do(ctx context.Context, run *SweepRun) error {
	data, err := k.fill(k.c.Rank())
	held := int64(0)
	if err == nil {
		held = data.bytes()
	}
	if err := comm.Agree(ctx, k.c, err); err != nil {
		return err
	}
	put := int64(0) // size of all records in bytes
	for v, recs := range data {
		for i, x := range recs {
			if x != nil {
				n := rankData{{x}}.bytes()
				times := k.records(v) / int64(len(recs))
				if int64(i) < k.records(v)%int64(len(recs)) {
					times++
				}
				put += n * times
			}
		}
	}
	start := time.Now()
	if err := k.write(ctx, data); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	runtime.KeepAlive(data)
	reading := 0.0
	if k.pt["read"] != "none" {
		if reading, err = k.read(ctx); err != nil {
			return err
		}
	}
	most, err := comm.Allreduce(ctx, k.c, append(k.clock[:], took, reading), comm.Max)
	if err != nil {
		return err
	}
	least, err := comm.Allreduce(ctx, k.c, k.clock[:], comm.Min)
	if err != nil {
		return err
	}
	sum, err := comm.Allreduce(ctx, k.c, k.clock[:], comm.Sum)
	if err != nil {
		return err
	}
	counts, err := k.c.AllreduceInt64(ctx, []int64{put, held, k.verified}, comm.Sum)
	if err != nil || k.c.Rank() != 0 {
		return err
	}
	run.Nodes, run.Data, run.Held, run.Verified = k.nodes, counts[0], counts[1], counts[2]
	run.Write, run.Read = most[len(k.clock)], most[len(k.clock)+1]
	run.Phases = map[string]Spread{}
	for i, name := range SweepPhases {
		if most[i] > 0 {
			run.Phases[name] = Spread{least[i], sum[i] / float64(k.c.Size()), most[i]}
		}
	}
	return nil
}

func (k *sweepRank) options() (*blob.Options, error) {
	s, err := k.pt.settings()
	if err != nil {
		return nil, err
	}
	o := &s.Write
	if o.Subfiles, err = k.pt.subfiles(k.nodes, k.plan.Targets); err != nil {
		return nil, err
	}
	if o.Layout == blob.ProcessCentric && k.pt["fixed-records"] == "yes" {
		o.Records = k.Records
	}
	return o, nil
}

// write writes the dataset.
func (k *sweepRank) write(ctx context.Context, data rankData) error {
	o, err := k.options()
	if err := comm.Agree(ctx, k.c, err); err != nil { // all ranks start together
		return err
	}
	x := writing{path: k.path, o: o, async: k.pt["async"] == "yes", failure: k.failure}
	if d := sweepSeconds(k.pt["compute"]); d > 0 {
		x.compute = func(ctx context.Context) error { return k.work(ctx, d) }
	}
	return k.task.write(ctx, k.c, k.s, data, x, &k.clock)
}

// work simulates a computation of a given time. If each rank is a process, it keeps its core busy. Ranks of one process only
// wait, because they do not have a core each.
func (k *sweepRank) work(ctx context.Context, d time.Duration) error {
	if k.processes {
		for t := time.Now(); time.Since(t) < d; {
			runtime.KeepAlive(spin(1000))
		}
		return nil
	}
	return par.Pause(ctx, d)
}

func sweepSeconds(s string) time.Duration {
	var x float64
	_, _ = fmt.Sscan(s, &x)
	return time.Duration(x * float64(time.Second))
}
