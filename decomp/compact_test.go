package decomp

import (
	"blobio/internal/base/crashtest"
	"math/rand/v2"
	"slices"
	"testing"
)

// columns deals ncol columns to ranks, in runs of mean length 1.6, like the load balancing of the F case. The result has the
// columns of each rank, in the order of the deal.
func columns(ncol int64, ranks int, seed uint64) [][]Req {
	rng := rand.New(rand.NewPCG(seed, 1))
	var runs []Req
	for o := int64(0); o < ncol; {
		n := int64(1)
		for n < 4 && o+n < ncol && rng.Float64() < 0.375 {
			n++
		}
		runs = append(runs, Req{o, n})
		o += n
	}
	rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	out := make([][]Req, ranks)
	for i, r := range runs {
		k := int(int64(i) * int64(ranks) / int64(len(runs)))
		out[k] = append(out[k], r)
	}
	return out
}

// levels repeats columns on nlev levels of ncol columns.
func levels(dst, cols []Req, ncol, nlev int64) []Req {
	for l := range nlev {
		for _, c := range cols {
			dst = append(dst, Req{c.Offset + l*ncol, c.Length})
		}
	}
	return dst
}

// fcase makes D2 and D3 of an F case.
func fcase(t testing.TB, ncol, nlev int64, ranks int, sorted bool) (d2, d3 *Map) {
	b2, b3 := NewBuilder([]int64{ncol}, ranks), NewBuilder([]int64{nlev, ncol}, ranks)
	var buf []Req
	for r, cols := range columns(ncol, ranks, 7) {
		if sorted {
			cols = SortCoalesce(cols, ncol)
		}
		buf = levels(buf[:0], cols, ncol, nlev)
		must(b2.Set(r, cols))
		must(b3.Set(r, buf))
	}
	var err error
	if d2, err = b2.Map(); err != nil {
		t.Fatal(err)
	}
	if d3, err = b3.Map(); err != nil {
		t.Fatal(err)
	}
	return d2, d3
}

func TestProductionMapsAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	const ncol, nlev, ranks = 777602, 72, 21600
	for _, sorted := range crashtest.Times([]bool{true}, []bool{true, false}) {
		d2, d3 := fcase(t, ncol, nlev, ranks, sorted)
		s := d3.Stats()
		t.Logf("sorted %v: D2 %d reqs %.1f MiB, D3 %d reqs %.1f MiB, mean run %.2f", sorted,
			d2.Stats().Reqs, mib(d2.MemSize()), s.Reqs, mib(d3.MemSize()), s.MeanRun)
		if s.Elems != ncol*nlev {
			t.Errorf("D3 has %d elements", s.Elems)
		}
		// the size of D2 also stands for D1, which is smaller
		if all := 2*d2.MemSize() + d3.MemSize(); all > 64<<20 {
			t.Errorf("D1, D2 and D3 take %.1f MiB, want well under 256", mib(all))
		}
		if !sorted {
			continue
		}
		ix := need(d3.Index())
		size := int64(cap(ix.sources)) * 24
		for _, lane := range ix.lanes {
			for i := range lane {
				size += int64(cap(lane[i].segs))*24 + 80
			}
		}
		t.Logf("index of D3 %.1f MiB, %d lanes", mib(size), len(ix.lanes))
		if size > 64<<20 {
			t.Errorf("the index of D3 takes %.1f MiB", mib(size))
		}
		if c := ix.Coverage(); !c.Full() {
			t.Errorf("%+v", c)
		}
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func TestCompaction(t *testing.T) {
	cols := columns(4000, 4, 3)
	sorted := make([][]Req, len(cols))
	for i := range cols {
		sorted[i] = SortCoalesce(slices.Clone(cols[i]), 4000)
	}
	var dealt []Req // four map processes of one rank, unsorted, one after the other
	for _, c := range cols {
		dealt = levels(dealt, c, 4000, 30)
	}
	var blanks []Req // a pattern with a constant stride inside, as PIO makes: 3, 67, 131, ...
	for l := range int64(72) {
		for i := range int64(14) {
			blanks = append(blanks, Req{l*866 + 3 + 61*i, 1})
		}
	}
	for _, c := range []struct {
		name   string
		reqs   []Req
		blocks int
	}{
		{"one rank", levels(nil, sorted[0], 4000, 30), 1},
		{"unsorted", levels(nil, cols[1], 4000, 30), 1},
		{"four processes", dealt, 4},
		{"rows", levels(nil, []Req{{5, 3}}, 100, 1000), 1},
		{"constant inside", blanks, 1},
		{"no repetition", sorted[2], 1},
		{"something before", append([]Req{{9, 1}}, levels(nil, sorted[0], 4000, 30)...), 3},
		{"something behind", append(levels(nil, sorted[0], 4000, 30), Req{9, 1}, Req{70, 5}), 2},
		{"two repetitions", levels(nil, sorted[0], 4000, 2), 1},
	} {
		var k compactor
		k.run(c.reqs)
		if len(k.store.blocks) != c.blocks {
			t.Errorf("%s: %d requests gave %d blocks, want %d", c.name, len(c.reqs), len(k.store.blocks), c.blocks)
			for _, b := range k.store.blocks[:min(5, len(k.store.blocks))] {
				t.Logf("%+v", b)
			}
		}
	}
}

// The time to find repetitions must not be quadratic for any list.
func TestCompactionIsNearLinear(t *testing.T) {
	const n = 200000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		next func(i int) (gap, length int64)
	}{
		{"random", func(int) (int64, int64) { return 1 + rng.Int64N(1000), 1 }},
		{"binary", func(int) (int64, int64) { return 1 + rng.Int64N(2), 1 }},
		{"small hits", func(i int) (int64, int64) {
			if i%30 < 26 {
				return 5, 2
			}
			return 7 + rng.Int64N(1e6), 3
		}},
		{"almost constant", func(i int) (int64, int64) {
			if i%997 == 996 {
				return 9, 1
			}
			return 4, 1
		}},
		{"fibonacci", fibonacci()},
	} {
		reqs := make([]Req, n)
		o := int64(0)
		for i := range reqs {
			gap, length := c.next(i)
			reqs[i] = Req{o, length}
			o += gap + length
		}
		var k compactor
		k.run(reqs)
		if k.wasted > 2*maxWaste*n {
			t.Errorf("%s: %d symbols scanned in vain for %d requests", c.name, k.wasted, n)
		}
		t.Logf("%s: wasted %.1f per request, %d blocks, %d runs", c.name, float64(k.wasted)/n, len(k.store.blocks), len(k.store.rel))
	}
}

// fibonacci returns the Fibonacci word as gaps. It has many short periods.
func fibonacci() func(int) (int64, int64) {
	a, b := []byte{0}, []byte{0, 1}
	for len(b) < 1<<18 {
		a, b = b, append(slices.Clone(b), a...)
	}
	return func(i int) (int64, int64) { return 1 + int64(b[i]), 1 }
}
