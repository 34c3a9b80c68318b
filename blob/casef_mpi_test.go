//go:build mpi && cgo

package blob_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/comm/mpi"
)

// TestRatesMPI writes the F case with real processes and prints rates, open to close:
//
//	go test -c -tags mpi -o blob.test ./blob
//	BLOB_JOB=/dev/shm/out mpirun -n 4 ./blob.test -test.run TestRatesMPI
//
// BLOB_NE (default 4) is the resolution, BLOB_RUNS (default 20) the number of runs, BLOB_LAYOUT
// variable-centric or process-centric, BLOB_AGG, BLOB_BUFFER, BLOB_RECORDS and BLOB_STRIPE and BLOB_COMPRESS are options, BLOB_OWN is the mean
// size from which on ranks write their own, BLOB_MESSAGES=1 is without shared memory, BLOB_COLL=1 times
// the collectives as well.
func TestRatesMPI(t *testing.T) {
	dir := os.Getenv("BLOB_JOB")
	if dir == "" {
		t.Skip("runs under mpirun only")
	}
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(otherwise)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	e, err := mpi.Init(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, c := context.Background(), e.World()
	f := newCaseF(t, number("BLOB_NE", 4), c.Size())
	data := f.data(c.Rank())
	layout, err := blob.ParseLayout(cmp.Or(os.Getenv("BLOB_LAYOUT"), "variable-centric"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Rank() == 0 {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	o := &blob.Options{Layout: layout, Durability: blob.DurableNone, Force: true, Retain: blob.LendUntilFlush}
	o.Aggregators, o.Buffer = number("BLOB_AGG", 0), number("BLOB_BUFFER", 0)
	o.Records = int64(number("BLOB_RECORDS", 0))
	o.Stripe.Size = int64(number("BLOB_STRIPE", 0))
	if o.Compress, err = blob.ParseCompress(cmp.Or(os.Getenv("BLOB_COMPRESS"), "off")); err != nil {
		t.Fatal(err)
	}
	f.ownMin, f.messages = int64(number("BLOB_OWN", 0)), number("BLOB_MESSAGES", 0) > 0
	var took []float64
	var phases [3][]float64
	for range number("BLOB_RUNS", 20) {
		if c.Rank() == 0 { // each run makes new files
			old, _ := os.ReadDir(dir)
			for _, x := range old {
				os.Remove(dir + "/" + x.Name())
			}
		}
		if err := c.Barrier(ctx); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		last := start
		err := f.timed(ctx, c, dir+"/f.nc", data, o, func(phase int) {
			phases[phase] = append(phases[phase], time.Since(last).Seconds())
			last = time.Now()
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Barrier(ctx); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start).Seconds())
	}
	if c.Rank() == 0 {
		var mid [3]float64
		for k, p := range phases {
			slices.Sort(p)
			mid[k] = 1e3 * p[len(p)/2]
		}
		slices.Sort(took)
		med := took[len(took)/2]
		fmt.Printf("%d processes, %v, %.1f MiB: median %.1f ms (%.1f to %.1f), %.0f MiB/s; create, flush, close %.1f ms\n", c.Size(), layout, float64(f.bytes)/(1<<20),
			1e3*med, 1e3*took[0], 1e3*took[len(took)-1], float64(f.bytes)/(1<<20)/med, mid)
	}
	if os.Getenv("BLOB_COLL") != "" {
		for _, x := range []struct {
			name string
			f    func() error
		}{
			{"barrier", func() error { return c.Barrier(ctx) }},
			{"allreduce", func() error { _, err := c.AllreduceInt64(ctx, []int64{1}, comm.Min); return err }},
			{"bcast", func() error { _, err := c.Bcast(ctx, 0, make([]byte, 100)); return err }},
			{"gather", func() error { _, err := c.Gather(ctx, 0, make([]byte, 100)); return err }},
			{"allgather", func() error { _, err := c.Allgather(ctx, make([]byte, 100)); return err }},
			{"node", func() error { _, err := c.SplitNode(ctx); return err }},
			{"alltoallv", func() error {
				b := make([][]byte, c.Size())
				for i := range b {
					b[i] = make([]byte, f.bytes/int64(c.Size()*c.Size()))
				}
				_, err := c.Alltoallv(ctx, b)
				return err
			}},
		} {
			start := time.Now()
			for range 20 {
				if err := x.f(); err != nil {
					t.Fatal(err)
				}
			}
			if c.Rank() == 0 {
				fmt.Printf("  %s %v\n", x.name, time.Since(start)/20)
			}
		}
	}
	if err := e.Finalize(ctx); err != nil {
		t.Fatal(err)
	}
}
