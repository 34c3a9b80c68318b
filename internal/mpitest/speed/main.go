//go:build mpi && cgo

package main

// #include "raw.h"
import "C"

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"blobio/comm"
	"blobio/comm/mpi"
)

func main() {
	rounds := flag.Int("rounds", 9, "of which the median is told")
	span := flag.Duration("span", 20*time.Millisecond, "about how long one measurement takes")
	only := flag.String("only", "", "calls, separated by commas; all by default")
	most := flag.Int("most", 4<<20, "bytes of the longest part")
	flag.Parse()
	ballast := make([]byte, 64<<20) // as a model has data: garbage is collected not for each few messages
	err := mpi.Run(context.Background(), nil, func(ctx context.Context, c comm.Comm) error {
		return table(ctx, c, *rounds, *span, *most, *only)
	})
	runtime.KeepAlive(ballast)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// row is a call with parts of n bytes.
type row struct {
	name  string
	what  C.int
	n     int
	moved int // parts that a rank sends for one call; 0: no rate
	do    func(ctx context.Context, t *task, n int) error
}

// task is what the calls need.
type task struct {
	c      comm.Comm
	in, to []byte // sent and received
	got    []byte // of a window
	win    comm.Window
	parts  [][]byte
	words  []int64
}

// recycle gives long parts back, since MPI receives into the same memory each time.
func (t *task) recycle(parts ...[]byte) {
	if len(parts) > 0 && len(parts[0]) >= 1<<10 {
		comm.Recycle(t.c, parts...)
	}
}

func rows(most int) (list []row) {
	add := func(name string, what C.int, moved int, do func(ctx context.Context, t *task, n int) error, sizes ...int) {
		for _, n := range sizes {
			if n <= most {
				list = append(list, row{name, what, n, moved, do})
			}
		}
	}
	add("pingpong", C.PINGPONG, 2, pingpong, 8, 4<<10, 64<<10, 4<<20)
	add("barrier", C.BARRIER, 0, func(ctx context.Context, t *task, n int) error { return t.c.Barrier(ctx) }, 0)
	add("bcast", C.BCAST, 1, func(ctx context.Context, t *task, n int) error {
		b, err := t.c.Bcast(ctx, 0, t.in[:n])
		t.recycle(b)
		return err
	}, 8, 1<<20)
	add("allgather", C.ALLGATHER, 1, func(ctx context.Context, t *task, n int) error {
		parts, err := t.c.Allgather(ctx, t.in[:n])
		t.recycle(parts...)
		return err
	}, 8, 4<<10, 256<<10)
	add("alltoallv", C.ALLTOALLV, 1, func(ctx context.Context, t *task, n int) error {
		for i := range t.parts {
			t.parts[i] = t.in[:n]
		}
		parts, err := t.c.Alltoallv(ctx, t.parts)
		t.recycle(parts...)
		return err
	}, 8, 4<<10, 1<<20)
	add("allreduce", C.ALLREDUCE, 1, func(ctx context.Context, t *task, n int) error {
		_, err := t.c.AllreduceInt64(ctx, t.words[:n/8], comm.Sum)
		return err
	}, 8, 4<<10, 1<<20)
	add("put", C.PUT, 1, func(ctx context.Context, t *task, n int) error {
		return t.win.Put(ctx, (t.c.Rank()+1)%t.c.Size(), 0, t.in[:n])
	}, 8, 64<<10, 1<<20)
	add("get", C.GET, 1, func(ctx context.Context, t *task, n int) error {
		return t.win.Get(ctx, (t.c.Rank()+1)%t.c.Size(), 0, t.got[:n])
	}, 8, 64<<10, 1<<20)
	return list
}

// pingpong is between ranks 2k and 2k+1.
func pingpong(ctx context.Context, t *task, n int) (err error) {
	peer, me := t.c.Rank()^1, t.c.Rank()
	if peer >= t.c.Size() {
		return nil
	}
	if me < peer {
		if err := t.c.Send(ctx, peer, 0, t.in[:n]); err != nil {
			return err
		}
	}
	if t.to, err = comm.RecvInto(ctx, t.c, peer, 0, t.to); err != nil {
		return err
	}
	if me > peer {
		err = t.c.Send(ctx, peer, 0, t.in[:n])
	}
	return err
}

func table(ctx context.Context, c comm.Comm, rounds int, span time.Duration, most int, only string) error {
	t := &task{c: c, in: make([]byte, most), to: make([]byte, most), got: make([]byte, most), parts: make([][]byte, c.Size()), words: make([]int64, most/8)}
	if C.raw_open(C.int64_t(most)) != 0 {
		return errors.New("MPI has no shared window")
	}
	defer C.raw_close()
	var err error
	if t.win, err = c.NewWindow(ctx, make([]byte, most)); err != nil {
		return err
	}
	if c.Rank() == 0 {
		fmt.Printf("%d processes; microseconds a call, and MB/s that each process moves\n", c.Size())
		fmt.Printf("%-10s %9s %10s %10s %6s %9s %9s %6s  %s\n", "call", "bytes", "ours", "MPI's", "times", "MB/s", "MPI's", "ratio", "spread")
	}
	for _, r := range rows(most) {
		if c.Size() == 1 && r.name == "pingpong" || only != "" && !slices.Contains(strings.Split(only, ","), r.name) {
			continue
		}
		times := 1
		var ours, raws []float64
		for k := -2; k < rounds; k++ { // the first two find how often
			raw := float64(C.raw_run(r.what, C.int(r.n), C.int(times)))
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			start := time.Now()
			for range times {
				if err := r.do(ctx, t, r.n); err != nil {
					return err
				}
			}
			both, err := c.AllreduceInt64(ctx, []int64{int64(time.Since(start)), int64(raw * 1e9)}, comm.Max)
			if err != nil {
				return err
			}
			ours, raws = append(ours, float64(both[0])/float64(times)/1e3), append(raws, float64(both[1])/float64(times)/1e3)
			if k < 0 {
				times = min(max(int(span.Seconds()*1e6/max(ours[k+2], raws[k+2], 0.01)), 3), 100_000)
				if k == -1 {
					ours, raws = nil, nil
				}
			}
		}
		slices.Sort(ours)
		slices.Sort(raws)
		if c.Rank() == 0 {
			o, m := ours[len(ours)/2], raws[len(raws)/2]
			fmt.Printf("%-10s %9d %10.2f %10.2f %6.2f", r.name, r.n, o, m, o/m)
			if bytes := float64(r.moved * r.n); bytes > 0 && r.n >= 4<<10 {
				fmt.Printf(" %9.0f %9.0f %6.2f", bytes/o, bytes/m, m/o)
			} else {
				fmt.Printf(" %26s", "")
			}
			fmt.Printf("  %.2f-%.2f, %.2f-%.2f\n", ours[0], ours[len(ours)-1], raws[0], raws[len(raws)-1])
		}
	}
	return t.win.Free(ctx)
}
