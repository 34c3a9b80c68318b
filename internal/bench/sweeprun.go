package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/dyn"
)

// SweepPhases of a run, in order. Create and close are those of the dataset; post is all calls of Put; open and read are of reading back.
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

// Spread is a time in seconds over the ranks.
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
	clock     [7]float64
	verified  int64
	reqs      [][]decomp.Req // by map, of what is read
}

// do writes, reads and verifies. On rank 0 it fills in what the run was. An error is that of all ranks, and breaks nothing.
func (k *sweepRank) do(ctx context.Context, run *SweepRun) error {
	data, err := k.fill(k.c.Rank())
	held := int64(0)
	if err == nil {
		held = data.bytes()
	}
	if err := comm.Agree(ctx, k.c, err); err != nil {
		return err
	}
	put := int64(0) // bytes of all records
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

// timed adds what f takes to a phase.
func (k *sweepRank) timed(phase int, f func() error) error {
	t := time.Now()
	err := f()
	k.clock[phase] += time.Since(t).Seconds()
	return err
}

// options of the writer at the point.
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

// write writes the dataset. A put that fails on one rank does not keep it from what is collective: all learn of it at the end.
func (k *sweepRank) write(ctx context.Context, data rankData) (err error) {
	o, oerr := k.options()
	if err := comm.Agree(ctx, k.c, oerr); err != nil { // all ranks begin together
		return err
	}
	var w *blob.Writer
	if err := k.timed(phaseCreate, func() (err error) { w, err = blob.Create(ctx, k.c, k.path, k.s, k.parts(k.c), o); return err }); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.Abort()
		}
	}()
	var failed error
	post := func(record bool, rec int64) {
		_ = k.timed(phasePost, func() error {
			for v, recs := range data {
				if k.task.c.Vars[v].Record != record || len(recs) == 0 || recs[rec%int64(len(recs))] == nil || failed != nil {
					continue
				}
				failed = dyn.Put(w, blob.VarID(v), rec, recs[rec%int64(len(recs))])
			}
			return nil
		})
	}
	flush := func() error {
		return k.timed(phaseFlush, func() error {
			if k.pt["async"] == "yes" {
				return w.FlushAsync(ctx)
			}
			return w.Flush(ctx)
		})
	}
	post(false, 0)
	if k.failure != nil && failed == nil {
		failed = k.failure(k.c.Rank())
	}
	for rec := range k.Records {
		if err := k.work(ctx); err != nil && failed == nil {
			failed = err
		}
		post(true, rec)
		if k.Flush > 0 && (rec+1)%k.Flush == 0 && rec+1 < k.Records {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := comm.Agree(ctx, k.c, failed); err != nil {
		return err
	}
	return k.timed(phaseClose, func() error { return w.Close(ctx) })
}

// work computes for the time of the axis. A process keeps its core busy; of ranks of one process, which have no core each, the time passes.
func (k *sweepRank) work(ctx context.Context) error {
	d := sweepSeconds(k.pt["compute"])
	if d == 0 {
		return nil
	}
	return k.timed(phaseCompute, func() error {
		if k.processes {
			for t := time.Now(); time.Since(t) < d; {
				runtime.KeepAlive(spin(1000))
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	})
}

func sweepSeconds(s string) time.Duration {
	var x float64
	_, _ = fmt.Sscan(s, &x)
	return time.Duration(x * float64(time.Second))
}

// read reads what this rank, or the one that Shift says, has written; verification is off the clock. It returns the time from open to the last rank's end.
func (k *sweepRank) read(ctx context.Context) (took float64, err error) {
	var failed error
	if k.pt["read"] == "cold" {
		failed = k.forget(ctx)
	}
	s, serr := k.pt.settings()
	if failed == nil {
		failed = serr
	}
	if err := comm.Agree(ctx, k.c, failed); err != nil {
		return 0, err
	}
	start := time.Now()
	var r *blob.Reader
	if err := k.timed(phaseOpen, func() (err error) { r, err = blob.OpenComm(ctx, k.c, k.path, &s.Read); return err }); err != nil {
		return 0, err
	}
	defer r.Close()
	took = time.Since(start).Seconds()
	owner := (k.c.Rank() + k.plan.Shift) % k.c.Size()
	for rec := int64(-1); rec < k.Records; rec++ { // -1: what has no records
		n, err := k.readRecord(ctx, r, owner, rec)
		if err != nil {
			return took, err
		}
		took += n
	}
	return took, nil
}

// readRecord reads one record, -1 for what has none, and then verifies it.
func (k *sweepRank) readRecord(ctx context.Context, r *blob.Reader, owner int, rec int64) (took float64, err error) {
	got, wanted := make([]any, len(k.task.c.Vars)), make([][]decomp.Req, len(k.task.c.Vars))
	var failed error
	for v := range got {
		cv := &k.task.c.Vars[v]
		if cv.Record != (rec >= 0) || cv.Map == 0 && k.c.Rank() != 0 {
			continue
		}
		n := k.task.c.Elems(v)
		if cv.Map != 0 {
			n = k.maps[cv.Map-1].Count(owner)
		}
		if int64(int(n)) != n {
			failed = pkg.Errorf("%d elements of %s in one rank are too many for this machine", n, cv.Name)
			continue
		}
		file, _ := k.types(cv)
		got[v], wanted[v] = cdf5.NewSlice(file, int(n)), k.wanted(v, owner)
	}
	if err := comm.Agree(ctx, k.c, failed); err != nil { // all ranks begin together
		return 0, err
	}
	start := time.Now()
	_ = k.timed(phaseRead, func() error {
		for v, dst := range got {
			if dst == nil || failed != nil {
				continue
			}
			failed = r.ReadRuns(ctx, k.task.c.Vars[v].Name, max(rec, 0), wanted[v], dst)
		}
		return nil
	})
	if err := comm.Agree(ctx, k.c, failed); err != nil {
		return 0, err
	}
	took = time.Since(start).Seconds()
	if k.plan.Verify {
		for v, dst := range got {
			if dst != nil && failed == nil {
				failed = k.compare(v, max(rec, 0), owner, dst)
			}
		}
		err = comm.Agree(ctx, k.c, failed)
	}
	return took, err
}

// wanted are the requests of what a rank has of a variable.
func (k *sweepRank) wanted(v, owner int) []decomp.Req {
	m := k.task.c.Vars[v].Map
	if m == 0 {
		return []decomp.Req{{Offset: 0, Length: k.task.c.Elems(v)}}
	}
	if k.reqs == nil {
		k.reqs = make([][]decomp.Req, len(k.maps))
	}
	if k.reqs[m-1] == nil {
		k.reqs[m-1] = k.maps[m-1].AppendReqs([]decomp.Req{}, owner)
	}
	return k.reqs[m-1]
}

// compare says whether values are those that the owner has put.
func (k *sweepRank) compare(v int, rec int64, owner int, got any) error {
	cv := &k.task.c.Vars[v]
	file, _ := k.types(cv)
	gb, _ := cdf5.Bytes(got)
	want := cdf5.NewSlice(file, len(gb)/file.Size())
	made := rec
	if k.distinct > 0 {
		made %= k.distinct
	}
	runs := k.task.c.Whole(v)
	if cv.Map != 0 {
		runs = k.maps[cv.Map-1].Reqs(owner)
	}
	if err := k.values.Fill(want, v, made, runs, owner); err != nil {
		return err
	}
	wb, _ := cdf5.Bytes(want)
	if !bytes.Equal(gb, wb) {
		for i := range gb {
			if gb[i] != wb[i] {
				i /= file.Size()
				return pkg.Errorf("%s: variable %q record %d, element %d of rank %d: bytes %x, want %x", k.path, cv.Name, rec, i, owner, gb[i*file.Size():(i+1)*file.Size()], wb[i*file.Size():(i+1)*file.Size()])
			}
		}
	}
	k.verified += int64(len(gb) / file.Size())
	return nil
}

// forget takes the files out of the page caches: the ranks of each node do so for it, each for some of the files.
func (k *sweepRank) forget(ctx context.Context) error {
	node, dir := k.node, filepath.Dir(k.path)
	list, err := os.ReadDir(dir)
	for i, f := range list {
		if i%node.Size() == node.Rank() && err == nil {
			if err = syncFile(filepath.Join(dir, f.Name())); err == nil {
				err = forgetFile(filepath.Join(dir, f.Name()))
			}
		}
	}
	if k.plan.Drop == "" || node.Rank() != 0 || !k.processes && k.c.Rank() != 0 {
		return err
	}
	out, cerr := exec.CommandContext(ctx, "sh", "-c", k.plan.Drop).CombinedOutput()
	if cerr != nil && err == nil {
		err = pkg.Errorf("%s: %w: %s", k.plan.Drop, cerr, strings.TrimSpace(string(out)))
	}
	return err
}

// syncFile waits until a file is on its device, without which it stays in the page cache.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
