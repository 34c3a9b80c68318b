package cello

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
)

// cost is what something took.
type cost struct{ wall, user, sys float64 } // seconds

// costs are those of several rounds.
type costs []cost

func (l *costs) add(f func()) {
	runtime.GC()
	user, sys := cpuTime()
	begin := time.Now()
	f()
	wall := time.Since(begin)
	u, s := cpuTime()
	*l = append(*l, cost{wall.Seconds(), (u - user).Seconds(), (s - sys).Seconds()})
}

// median of one of the numbers.
func (l costs) median(of func(c cost) float64) float64 {
	v := make([]float64, 0, len(l))
	for _, c := range l {
		v = append(v, of(c))
	}
	slices.Sort(v)
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}

func (l costs) wall() float64 { return l.median(func(c cost) float64 { return c.wall }) }

// report adds the medians to what a benchmark prints, in milliseconds.
func (l costs) report(b *testing.B, name string) {
	b.ReportMetric(1e3*l.wall(), name+"-ms")
	b.ReportMetric(1e3*l.median(func(c cost) float64 { return c.user }), name+"-user-ms")
	b.ReportMetric(1e3*l.median(func(c cost) float64 { return c.sys }), name+"-sys-ms")
}

// ceiling is a way to write bytes into benchFiles files, by as many writers.
type ceiling struct {
	block    int64
	allocate bool // reserve the space first
}

func (c ceiling) String() string {
	if c.allocate {
		return fmt.Sprintf("fallocate, then %d KiB at a time", c.block>>10)
	}
	return fmt.Sprintf("%d KiB at a time", c.block>>10)
}

// write writes buf.
func (c ceiling) write(dir string, buf []byte) {
	must(os.Mkdir(dir, 0o777))
	var wg sync.WaitGroup
	for i := range int64(benchFiles) {
		n := int64(len(buf)) / benchFiles
		part := buf[i*n : (i+1)*n]
		wg.Go(func() {
			f, err := vfs.OS.Create(filepath.Join(dir, fmt.Sprint(i)))
			must(err)
			if c.allocate {
				must(f.Allocate(0, n))
			}
			for off := int64(0); off < n; off += c.block {
				_, err := f.WriteAt(part[off:min(off+c.block, n)], off)
				must(err)
			}
			must(f.Close())
		})
	}
	wg.Wait()
}

// rawBuffer is as much memory as the blocks take: a small buffer would stay in the cache.
func rawBuffer(n int64) []byte {
	buf := make([]byte, n)
	for i := range buf {
		buf[i] = byte(i)
	}
	return buf
}

// bestCeiling finds the quickest way.
func bestCeiling(dir string, buf []byte) (best ceiling) {
	least := 0.0
	for _, block := range []int64{64 << 10, 256 << 10, 1 << 20, 8 << 20} {
		for _, allocate := range []bool{false, true} {
			var l costs
			c := ceiling{block, allocate}
			for range 3 {
				os.RemoveAll(dir)
				l.add(func() { c.write(dir, buf) })
			}
			if w := l.wall(); least == 0 || w < least {
				least, best = w, c
			}
		}
	}
	return best
}

// bytesIn is what the files of a directory hold.
func bytesIn(dir string) (n int64) {
	l, err := os.ReadDir(dir)
	must(err)
	for _, e := range l {
		st, err := e.Info()
		must(err)
		n += st.Size()
	}
	return n
}

// BenchmarkRatio writes and restarts in turn with the raw ceiling, so that what else the
// machine does hits both. The ceiling writes as many bytes as the checkpoint's files have, with as many
// writers, in the quickest way that there is; it reads the bytes of the data, block by
// block into new memory. The ratios are of medians; -benchtime 15x makes 15 rounds.
func BenchmarkRatio(b *testing.B) {
	m, local := uniform(b, 16, benchRanks, 16, 8)
	root := shm(b)
	dir, rawDir := filepath.Join(root, "c"), filepath.Join(root, "raw")
	run := func(f func(ctx context.Context, c comm.Comm) error) {
		if err := comm.Run(context.Background(), benchRanks, nil, f); err != nil {
			b.Fatal(err)
		}
	}
	write := func() {
		run(func(ctx context.Context, c comm.Comm) error {
			return Write(ctx, c, dir, m, local[c.Rank()], &Options{Files: benchFiles})
		})
	}
	write()
	size := bytesIn(dir)
	os.RemoveAll(dir)
	buf := rawBuffer(size / benchFiles * benchFiles)
	best := bestCeiling(rawDir, buf)
	b.Logf("ceiling: %d bytes, %v; the data are %d", size, best, benchBytes)
	var raw, ours, rawReads, reads costs
	for b.Loop() {
		os.RemoveAll(dir)
		os.RemoveAll(rawDir)
		raw.add(func() { best.write(rawDir, buf) })
		ours.add(write)
		rawReads.add(func() { rawRead(rawDir) })
		reads.add(func() {
			run(func(ctx context.Context, c comm.Comm) error { return Restart(ctx, c, dir, sink{}, nil) })
		})
	}
	b.ReportMetric(raw.wall()/ours.wall(), "write/raw")
	b.ReportMetric(rawReads.wall()/reads.wall(), "read/raw")
	raw.report(b, "rawwrite")
	ours.report(b, "write")
	rawReads.report(b, "rawread")
	reads.report(b, "read")
}

// BenchmarkRestartRanks restarts on the ranks that wrote and on other numbers of
// them in turn: how much longer the others take, by medians.
func BenchmarkRestartRanks(b *testing.B) {
	m, local := uniform(b, 16, benchRanks, 16, 8)
	dir := filepath.Join(shm(b), "c")
	if err := comm.Run(context.Background(), benchRanks, nil, func(ctx context.Context, c comm.Comm) error {
		return Write(ctx, c, dir, m, local[c.Rank()], &Options{Files: benchFiles})
	}); err != nil {
		b.Fatal(err)
	}
	local = nil
	var same costs
	others := []int{128, 48, 16, 7}
	times := make([]costs, len(others))
	restart := func(ranks int) func() {
		return func() {
			if err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				return Restart(ctx, c, dir, sink{}, nil)
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	restart(benchRanks)()
	for b.Loop() {
		same.add(restart(benchRanks))
		for i, n := range others {
			times[i].add(restart(n))
		}
	}
	for i, n := range others {
		b.ReportMetric(times[i].wall()/same.wall(), fmt.Sprintf("ranks=%d/same", n))
	}
	b.ReportMetric(1e3*same.wall(), "same-ms")
}
