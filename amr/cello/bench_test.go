package cello

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
)

// shm returns a directory in memory if there is one.
func shm(b *testing.B) string {
	root := "/dev/shm"
	if _, err := os.Stat(root); err != nil {
		root = ""
	}
	dir, err := os.MkdirTemp(root, "cello")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// uniform returns a tree of n^3 root blocks without levels below 0. The blocks are divided among ranks along the curve.
func uniform(b testing.TB, n, ranks, cells, fields int) (*amr.Meta, [][]*amr.Block) {
	m := &amr.Meta{Geometry: amr.Geometry{Rank: 3, Roots: [3]int{n, n, n}, Block: [3]int{cells, cells, cells}, Ghost: [3]int{4, 4, 4}, Upper: [3]float64{1, 1, 1}}}
	for i := range fields {
		m.Fields = append(m.Fields, amr.FieldSpec{Name: fmt.Sprintf("f%d", i), Type: amr.Float32})
	}
	tree, err := amr.NewRootTree(&m.Geometry)
	if err != nil {
		b.Fatal(err)
	}
	local := make([][]*amr.Block, ranks)
	for i, x := range tree.Sorted() {
		bl := &amr.Block{Index: x, Leaf: true}
		for k := range m.Fields {
			d := make([]byte, m.FieldBytes(&m.Fields[k], false))
			for j := range d {
				d[j] = byte(i + j*k)
			}
			bl.Fields = append(bl.Fields, amr.Field{Spec: &m.Fields[k], Data: d})
		}
		r := i * ranks / tree.Len()
		local[r] = append(local[r], bl)
	}
	return m, local
}

const (
	benchRanks = 64
	benchFiles = 16
	benchBytes = 4096 * 8 * 4 * 16 * 16 * 16
)

func BenchmarkWrite(b *testing.B) {
	m, local := uniform(b, 16, benchRanks, 16, 8)
	dir := filepath.Join(shm(b), "c")
	b.SetBytes(benchBytes)
	for b.Loop() {
		if err := comm.Run(context.Background(), benchRanks, nil, func(ctx context.Context, c comm.Comm) error {
			return Write(ctx, c, dir, m, local[c.Rank()], &Options{Files: benchFiles})
		}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		os.RemoveAll(dir)
		b.StartTimer()
	}
}

type sink struct{}

func (sink) Create(context.Context, int, []BlockInfo) error { return nil }
func (sink) Data(context.Context, *amr.Block) error         { return nil }
func (sink) LevelDone(context.Context, int, int, int) error { return nil }

func BenchmarkRestart(b *testing.B) {
	m, local := uniform(b, 16, benchRanks, 16, 8)
	dir := filepath.Join(shm(b), "c")
	if err := comm.Run(context.Background(), benchRanks, nil, func(ctx context.Context, c comm.Comm) error {
		return Write(ctx, c, dir, m, local[c.Rank()], &Options{Files: benchFiles})
	}); err != nil {
		b.Fatal(err)
	}
	local = nil
	runtime.GC()
	for _, ranks := range []int{benchRanks, 48, 16, 7} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			b.SetBytes(benchBytes)
			for b.Loop() {
				if err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
					return Restart(ctx, c, dir, sink{}, nil)
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen opens checkpoints with many small blocks in 16 files and verifies their structure.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{12, 24, 47} { // 1728, 13824, 103823 blocks
		m, local := uniform(b, n, 16, 1, 8)
		dir := filepath.Join(shm(b), "c")
		begin := func() {
			if err := comm.Run(context.Background(), 16, nil, func(ctx context.Context, c comm.Comm) error {
				return Write(ctx, c, dir, m, local[c.Rank()], &Options{Files: 16})
			}); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("write/blocks=%d", n*n*n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				os.RemoveAll(dir)
				b.StartTimer()
				begin()
			}
			perBlock(b, n)
		})
		if _, err := os.Stat(dir); err != nil {
			begin()
		}
		b.Run(fmt.Sprintf("open/blocks=%d", n*n*n), func(b *testing.B) {
			for b.Loop() {
				k, err := Open(context.Background(), dir, nil)
				if err != nil {
					b.Fatal(err)
				}
				k.Close()
			}
			perBlock(b, n)
		})
		b.Run(fmt.Sprintf("verify/blocks=%d", n*n*n), func(b *testing.B) {
			for b.Loop() {
				for f := range Verify(context.Background(), dir, &VerifyOptions{StructureOnly: true}) {
					if f.Severity >= Error {
						b.Fatal(f)
					}
				}
			}
			perBlock(b, n)
		})
	}
}

func perBlock(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n*n*n), "µs/block")
}
