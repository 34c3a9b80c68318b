package amr_test

import (
	"fmt"
	"testing"

	"blobio/amr"
	"blobio/internal/amr/gen"
	"blobio/sfc"
)

func benchTree(b *testing.B, n int) *amr.Tree {
	g := gen.Geometry(3, 8, 16, 3, 6)
	t, err := gen.Random(&g, 1, n)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// Time per block must stay about the same from 10^4 to 10^5 blocks.
func BenchmarkTree(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		tree := benchTree(b, n)
		order := amr.Hilbert{}.Order(tree)
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tree.Len()), "ns/block")
			})
		}
		run("Add", func() {
			t := amr.NewTree(tree.Geometry())
			for _, x := range order {
				if err := t.Add(x); err != nil {
					b.Fatal(err)
				}
			}
		})
		run("Sort", func() {
			x := order[0]
			if err := tree.Remove(x); err != nil { // makes the order stale
				b.Fatal(err)
			}
			if err := tree.Add(x); err != nil {
				b.Fatal(err)
			}
			tree.Sorted()
		})
		for _, o := range []amr.Ordering{amr.Hilbert{}, amr.RootBlocks{}} {
			run(o.Name(), func() { o.Order(tree) })
		}
		run("Quality", func() { amr.Quality(tree, order, sfc.ByCount(len(order), 64), nil) })
		run("Name", func() {
			for _, x := range order {
				_ = tree.Name(x)
			}
		})
		run("ParseName", func() {
			g := tree.Geometry()
			for _, x := range order {
				if _, _, err := amr.ParseName(tree.Name(x), g.Roots, x.Level()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
