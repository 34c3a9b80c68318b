package decomp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m, o := n.build(t), n.build(t)
		// flat has the same requests, but stored without repetitions
		flat := NewBuilder(n.dims, len(n.reqs))
		for r, reqs := range n.reqs {
			var c compactor
			c.literal(reqs)
			k := need(flat.inspect(r, reqs))
			flat.add(r, &c.store, k)
		}
		f := need(flat.Map())
		if !m.Equal(o) || !m.Equal(f) || !f.Equal(m) {
			t.Fatal("equal maps are not Equal")
		}
		// one change
		c := &naive{dims: n.dims, elems: n.elems, reqs: slices.Clone(n.reqs)}
		r := rapid.IntRange(0, len(n.reqs)-1).Draw(t, "changed rank")
		if len(c.reqs[r]) == 0 {
			return
		}
		c.reqs[r] = slices.Clone(c.reqs[r])
		i := rapid.IntRange(0, len(c.reqs[r])-1).Draw(t, "changed request")
		if q := &c.reqs[r][i]; q.End() < n.elems {
			q.Offset++
		} else if q.Length > 0 {
			q.Length--
		} else {
			return
		}
		d := c.build(t)
		if d.Equal(m) || m.Equal(d) {
			t.Fatalf("a change went unnoticed: %v, %v", n.reqs, c.reqs)
		}
	})
	unset := need(NewBuilder([]int64{6}, 1).Map())
	empty := NewBuilder([]int64{6}, 1)
	must(empty.Set(0, nil))
	if e, err := empty.Map(); err != nil || !e.Equal(unset) {
		t.Error("a rank set to nothing is not one that is not set")
	}
	a, b := Regular([]int64{6}, 2), Regular([]int64{6}, 3)
	if a.Equal(b) || a.Equal(Regular([]int64{2, 3}, 2)) {
		t.Error("other ranks or dimensions are Equal")
	}
}

func TestStats(t *testing.T) {
	n := &naive{dims: []int64{4, 10}, elems: 40, reqs: [][]Req{{{0, 1}, {10, 1}, {20, 1}, {30, 1}}, {{2, 5}}, nil}}
	s := n.build(t).Stats()
	if s.Ranks != 3 || s.Active != 2 || s.Reqs != 5 || s.Elems != 9 || s.MinReqs != 0 || s.MaxReqs != 4 ||
		s.MinElems != 0 || s.MaxElems != 5 || s.MinRun != 1 || s.MaxRun != 5 || s.MeanRun != 1.8 || s.Imbalance() != 5.0/3 {
		t.Errorf("%+v", s)
	}
	if want := []int64{0, 4, 0, 1}; !slices.Equal(s.RunLengths, want) {
		t.Errorf("run lengths %v, want %v", s.RunLengths, want)
	}
	if e := Regular([]int64{0}, 0).Stats(); e.Imbalance() != 0 {
		t.Errorf("%+v", e)
	}
}
