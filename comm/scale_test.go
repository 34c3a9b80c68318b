package comm_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"blobio/comm"
)

// production is the number of ranks in large runs of the E3SM F and G cases.
const production = 21600

// TestProduction runs the communication of a writer with 21,600 ranks. It must allocate at most 1 GiB, including stacks.
func TestProduction(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: 21,600 ranks, in -short mode")
	}
	n, subfiles := production, 338
	if raceEnabled { // the race detector supports at most 8,128 goroutines
		n, subfiles = 1000, 16
	}
	perFile := (n + subfiles - 1) / subfiles
	times := make([]time.Duration, 6)
	before, stacks := memStats(), uint64(0)
	err := comm.Run(t.Context(), n, &comm.Options{RanksPerNode: 64}, func(ctx context.Context, c comm.Comm) error {
		rank := c.Rank()
		start := time.Now()
		lap := func(i int) {
			if rank == 0 {
				times[i] = time.Since(start)
				start = time.Now()
				stacks = max(stacks, memStats().StackInuse)
			}
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		lap(0)
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(rank)*3)
		all, err := c.Allgather(ctx, b[:])
		if err != nil {
			return err
		}
		for i := rank; i < n; i += 997 { // each rank checks some ranks, and all ranks together check all
			if got := binary.LittleEndian.Uint64(all[i]); got != uint64(i)*3 {
				return fmt.Errorf("part of rank %d is %d", i, got)
			}
		}
		lap(1)
		off, err := c.ExscanInt64(ctx, []int64{int64(rank), 1}, comm.Sum)
		if err != nil {
			return err
		}
		if off[0] != int64(rank)*int64(rank-1)/2 || off[1] != int64(rank) {
			return fmt.Errorf("Exscan gave %v", off)
		}
		lap(2)
		sub, err := c.Split(ctx, rank/perFile, rank)
		if err != nil {
			return err
		}
		if sub.Rank() != rank%perFile {
			return fmt.Errorf("rank %d of its subfile", sub.Rank())
		}
		last, err := comm.AllreduceOne(ctx, sub, rank, comm.Max)
		if err != nil {
			return err
		}
		if want := min(rank-rank%perFile+perFile, n) - 1; last != want {
			return fmt.Errorf("last rank of the subfile is %d, want %d", last, want)
		}
		lap(3)
		node, err := c.SplitNode(ctx)
		if err != nil {
			return err
		}
		if node.Rank() != rank%64 {
			return fmt.Errorf("rank %d of its node", node.Rank())
		}
		lap(4)
		if err := comm.Agree(ctx, c, nil); err != nil {
			return err
		}
		for range 10 {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
		}
		lap(5)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	allocated := memStats().TotalAlloc - before.TotalAlloc
	t.Logf("%d ranks: start and Barrier %v, Allgather %v, Exscan %v, Split and Allreduce %v, SplitNode %v, Agree and 10 Barriers %v; %d MiB allocated, stacks of %d MiB",
		n, times[0], times[1], times[2], times[3], times[4], times[5], allocated>>20, stacks>>20)
	if allocated+stacks > 1<<30 {
		t.Errorf("%d MiB, want at most 1024", (allocated+stacks)>>20)
	}
}

// TestProductionFailure: one of 21,600 ranks fails while the others wait, and all others get its error.
func TestProductionFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: 21,600 ranks, in -short mode")
	}
	n := production
	if raceEnabled {
		n = 1000
	}
	for _, f := range []func(ctx context.Context, c comm.Comm) error{
		func(ctx context.Context, c comm.Comm) error {
			if c.Rank() == 777 {
				return fmt.Errorf("no luck")
			}
			return c.Barrier(ctx)
		},
		func(ctx context.Context, c comm.Comm) error { panic("no luck") },
		func(ctx context.Context, c comm.Comm) error {
			return comm.Agree(ctx, c, fmt.Errorf("no luck with file %d", c.Rank()))
		},
	} {
		start := time.Now()
		err := comm.Run(t.Context(), n, nil, f)
		if err == nil || len(err.Error()) > 1<<20 {
			t.Errorf("run returned %v", err)
		}
		t.Logf("%v, %d bytes of text", time.Since(start), len(err.Error()))
	}
}

// bench runs f once per iteration on n ranks.
func bench(b *testing.B, n int, f func(ctx context.Context, c comm.Comm) error) {
	b.Helper()
	b.ReportAllocs()
	err := comm.Run(b.Context(), n, &comm.Options{RanksPerNode: 64}, func(ctx context.Context, c comm.Comm) error {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		if c.Rank() == 0 {
			b.ResetTimer()
		}
		for range b.N {
			if err := f(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/rank")
}

func BenchmarkCollectives(b *testing.B) {
	var eight [8]byte
	for _, k := range []struct {
		name string
		f    func(ctx context.Context, c comm.Comm) error
	}{
		{"Barrier", func(ctx context.Context, c comm.Comm) error { return c.Barrier(ctx) }},
		{"Bcast", func(ctx context.Context, c comm.Comm) error { _, err := c.Bcast(ctx, 0, eight[:]); return err }},
		{"Allgather8", func(ctx context.Context, c comm.Comm) error { _, err := c.Allgather(ctx, eight[:]); return err }},
		{"Allreduce1", func(ctx context.Context, c comm.Comm) error {
			_, err := comm.AllreduceOne(ctx, c, 1, comm.Sum)
			return err
		}},
		{"AllreduceFloat1", func(ctx context.Context, c comm.Comm) error {
			_, err := comm.AllreduceOne(ctx, c, 1.5, comm.Sum)
			return err
		}},
		{"Exscan1", func(ctx context.Context, c comm.Comm) error {
			_, err := c.ExscanInt64(ctx, []int64{1}, comm.Sum)
			return err
		}},
		{"Split64", func(ctx context.Context, c comm.Comm) error { _, err := c.Split(ctx, c.Rank()/64, 0); return err }},
		{"Agree", func(ctx context.Context, c comm.Comm) error { return comm.Agree(ctx, c, nil) }},
		{"Share", func(ctx context.Context, c comm.Comm) error { _, err := c.Share(ctx, c); return err }},
	} {
		for _, n := range []int{1, 64, production} {
			b.Run(fmt.Sprintf("%s/%d", k.name, n), func(b *testing.B) { bench(b, n, k.f) })
		}
	}
}

// BenchmarkAlltoallv: each of 64 ranks sends 16 KiB to each rank.
func BenchmarkAlltoallv(b *testing.B) {
	const n, size = 64, 16 << 10
	buf := make([]byte, size)
	row := make([][]byte, n)
	for i := range row {
		row[i] = buf
	}
	b.SetBytes(n * n * size)
	bench(b, n, func(ctx context.Context, c comm.Comm) error { _, err := c.Alltoallv(ctx, row); return err })
}

// BenchmarkSendRecv sends messages of 4 KiB around a ring of 64 ranks.
func BenchmarkSendRecv(b *testing.B) {
	const n, size = 64, 4096
	buf := make([]byte, size)
	b.SetBytes(n * size)
	bench(b, n, func(ctx context.Context, c comm.Comm) error {
		if err := c.Send(ctx, (c.Rank()+1)%n, 0, buf); err != nil {
			return err
		}
		_, err := c.Recv(ctx, (c.Rank()+n-1)%n, 0)
		return err
	})
}

// BenchmarkWindowPut: each of 64 ranks puts 4 KiB to its neighbour.
func BenchmarkWindowPut(b *testing.B) {
	const n, size = 64, 4096
	buf := make([]byte, size)
	b.SetBytes(n * size)
	wins := make([]comm.Window, n)
	bench(b, n, func(ctx context.Context, c comm.Comm) error {
		if wins[c.Rank()] == nil {
			w, err := c.NewWindow(ctx, make([]byte, size))
			if err != nil {
				return err
			}
			wins[c.Rank()] = w
		}
		return wins[c.Rank()].Put(ctx, (c.Rank()+1)%n, 0, buf)
	})
}

// BenchmarkRun measures the start and the end of ranks that do nothing.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{64, production} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := comm.Run(b.Context(), n, nil, func(context.Context, comm.Comm) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// memStats must not be inlined, because its 6 KiB of variables would then be on the stack of every rank.
//
//go:noinline
func memStats() *runtime.MemStats {
	m := new(runtime.MemStats)
	runtime.ReadMemStats(m)
	return m
}
