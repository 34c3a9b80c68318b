package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// read reads the data that this rank has written. Verification is not timed. It returns the time from open until the last rank
// has finished.
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
	if err := k.clock.timed(phaseOpen, func() (err error) { r, err = blob.OpenComm(ctx, k.c, k.path, &s.Read); return err }); err != nil {
		return 0, err
	}
	defer r.Close()
	took = time.Since(start).Seconds()
	for rec := int64(-1); rec < k.Records; rec++ { // -1: fixed variables
		n, err := k.readRecord(ctx, r, rec)
		if err != nil {
			return took, err
		}
		took += n
	}
	return took, nil
}

// readRecord reads and then verifies one record, -1 for the fixed variables.
func (k *sweepRank) readRecord(ctx context.Context, r *blob.Reader, rec int64) (took float64, err error) {
	got, wanted := make([]any, len(k.task.c.Vars)), make([][]decomp.Req, len(k.task.c.Vars))
	var failed error
	for v := range got {
		cv := &k.task.c.Vars[v]
		if cv.Record != (rec >= 0) || cv.Map == 0 && k.c.Rank() != 0 {
			continue
		}
		n := k.task.c.Elems(v)
		if cv.Map != 0 {
			n = k.maps[cv.Map-1].Count(k.c.Rank())
		}
		if int64(int(n)) != n {
			failed = fmt.Errorf("%d elements of %s in one rank exceed the largest slice on this 32-bit machine", n, cv.Name)
			continue
		}
		file, _ := k.types(cv)
		got[v], wanted[v] = cdf5.NewSlice(file, int(n)), k.wanted(v)
	}
	if err := comm.Agree(ctx, k.c, failed); err != nil { // all ranks start together
		return 0, err
	}
	start := time.Now()
	_ = k.clock.timed(phaseRead, func() error {
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
				failed = k.compare(v, max(rec, 0), dst)
			}
		}
		err = comm.Agree(ctx, k.c, failed)
	}
	return took, err
}

// wanted returns the requests for this rank's part of a variable.
func (k *sweepRank) wanted(v int) []decomp.Req {
	m := k.task.c.Vars[v].Map
	if m == 0 {
		return []decomp.Req{{Offset: 0, Length: k.task.c.Elems(v)}}
	}
	if k.reqs == nil {
		k.reqs = make([][]decomp.Req, len(k.maps))
	}
	if k.reqs[m-1] == nil {
		k.reqs[m-1] = k.maps[m-1].AppendReqs([]decomp.Req{}, k.c.Rank())
	}
	return k.reqs[m-1]
}

// compare returns an error if values differ from the values that this rank has put.
func (k *sweepRank) compare(v int, rec int64, got any) error {
	cv := &k.task.c.Vars[v]
	file, _ := k.types(cv)
	gb, _ := cdf5.Bytes(got)
	want := cdf5.NewSlice(file, len(gb)/file.Size())
	made := rec
	if k.Distinct > 0 {
		made %= k.Distinct
	}
	runs := k.task.c.Whole(v)
	if cv.Map != 0 {
		runs = k.maps[cv.Map-1].Reqs(k.c.Rank())
	}
	if err := k.values.Fill(want, v, made, runs, k.c.Rank()); err != nil {
		return err
	}
	wb, _ := cdf5.Bytes(want)
	if !bytes.Equal(gb, wb) {
		for i := range gb {
			if gb[i] != wb[i] {
				i /= file.Size()
				return fmt.Errorf("%s: variable %q, record %d, element %d of rank %d: bytes %x, want %x", k.path, cv.Name, rec, i, k.c.Rank(), gb[i*file.Size():(i+1)*file.Size()], wb[i*file.Size():(i+1)*file.Size()])
			}
		}
	}
	k.verified += int64(len(gb) / file.Size())
	return nil
}

// forget removes the files from the page caches. The ranks of each node share the files.
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
		err = fmt.Errorf("%s: %w: %s", k.plan.Drop, cerr, strings.TrimSpace(string(out)))
	}
	return err
}

// syncFile waits until a file is on its device, because unsynced data stay in the page cache.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
