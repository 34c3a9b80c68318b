package decomp

import (
	"testing"

	"pgregory.net/rapid"
)

// owner is the owner of an element in the naive inversion.
type owner struct {
	rank   int
	pos    int64
	depth  int
	others map[int]bool
}

func (n *naive) invert() []owner {
	own := make([]owner, n.elems)
	for i := range own {
		own[i].rank = -1
	}
	for r, reqs := range n.reqs {
		pos := int64(0)
		for _, q := range reqs {
			for k := range q.Length {
				o := &own[q.Offset+k]
				if o.depth > 0 {
					if o.others == nil {
						o.others = map[int]bool{}
					}
					o.others[o.rank] = true
				}
				o.rank, o.pos = r, pos+k
				o.depth++
			}
			pos += q.Length
		}
	}
	return own
}

func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m := n.build(t)
		ix := need(m.Index())
		lo := rapid.Int64Range(-2, n.elems+2).Draw(t, "lo")
		hi := rapid.Int64Range(-2, n.elems+2).Draw(t, "hi")
		if rapid.Bool().Draw(t, "all") {
			lo, hi = 0, n.elems
		}
		n.owns(t, ix, lo, hi)
	})
}

// owns compares an index with the naive inversion, for [lo, hi) and for each element.
func (n *naive) owns(t interface{ Fatalf(string, ...any) }, ix *Index, lo, hi int64) {
	own := n.invert()
	next := max(lo, 0)
	for o := range ix.Range(lo, hi) {
		if o.Off < next || o.Len < 1 || o.Off+o.Len > hi {
			t.Fatalf("%+v, want from %d to %d", o, next, hi)
		}
		for ; next < o.Off; next++ {
			if own[next].rank >= 0 {
				t.Fatalf("element %d: no owner, want %+v", next, own[next])
			}
		}
		for k := range o.Len {
			if w := own[o.Off+k]; w.rank != o.Rank || w.pos != o.Pos+k {
				t.Fatalf("element %d: rank %d pos %d, want %+v", o.Off+k, o.Rank, o.Pos+k, w)
			}
		}
		next += o.Len
	}
	for ; next < min(hi, n.elems); next++ {
		if own[next].rank >= 0 {
			t.Fatalf("element %d: no owner, want %+v", next, own[next])
		}
	}
	for off := int64(-1); off <= n.elems; off++ {
		o, ok := ix.At(off)
		in := off >= 0 && off < n.elems && own[off].rank >= 0
		if ok != in || ok && (o.Rank != own[off].rank || o.Pos != own[off].pos || o.Off != off) {
			t.Fatalf("At(%d) = %+v, %v", off, o, ok)
		}
	}
}

func TestCoverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m := n.build(t)
		got := need(m.Coverage())
		own := n.invert()
		want := Coverage{Elems: n.elems}
		var gaps [][2]int64
		for i, o := range own {
			switch {
			case o.depth == 0:
				want.Uncovered++
				if k := len(gaps) - 1; k >= 0 && gaps[k][0]+gaps[k][1] == int64(i) {
					gaps[k][1]++
				} else {
					gaps = append(gaps, [2]int64{int64(i), 1})
				}
			default:
				want.Covered++
				if o.depth > 1 {
					want.Overlapped++
				}
			}
		}
		if got.Elems != want.Elems || got.Covered != want.Covered || got.Uncovered != want.Uncovered || got.Overlapped != want.Overlapped {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if len(got.Gaps) != min(len(gaps), maxExamples) {
			t.Fatalf("gaps %v, want %v", got.Gaps, gaps)
		}
		for i, g := range got.Gaps {
			if g.Off != gaps[i][0] || g.Len != gaps[i][1] {
				t.Fatalf("gap %d: %+v, want %v", i, g, gaps[i])
			}
			if g.Off > 0 && g.Before != own[g.Off-1].rank || g.Off == 0 && g.Before != -1 {
				t.Fatalf("gap %d: %+v", i, g)
			}
			if e := g.Off + g.Len; e < n.elems && g.After != own[e].rank || e == n.elems && g.After != -1 {
				t.Fatalf("gap %d: %+v", i, g)
			}
		}
		if (len(got.Overlaps) == 0) != (want.Overlapped == 0) {
			t.Fatalf("overlaps %+v, want %d elements", got.Overlaps, want.Overlapped)
		}
		for _, o := range got.Overlaps {
			for k := range o.Len {
				if w := own[o.Off+k]; w.depth < 2 || w.rank != o.Rank || !w.others[o.Other] {
					t.Fatalf("%+v at %d: %+v", o, o.Off+k, w)
				}
			}
		}
	})
}

func TestIndexOfRegular(t *testing.T) {
	m := Regular([]int64{1000, 100, 37}, 5000)
	ix := need(m.Index())
	if c := ix.Coverage(); !c.Full() || c.Covered != m.Elems() {
		t.Errorf("%+v", c)
	}
	if len(ix.lanes) > maxLanes {
		t.Errorf("%d lanes", len(ix.lanes))
	}
	for _, off := range []int64{0, 36, 37, 1 << 20, m.Elems() - 1} {
		o, ok := ix.At(off)
		lo, hi := m.Bounds(o.Rank)
		if !ok || off < lo || off >= hi || o.Pos != off-lo {
			t.Errorf("At(%d) = %+v, %v", off, o, ok)
		}
	}
}
