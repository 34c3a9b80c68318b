package decomp

import (
	"errors"
	"math/bits"
	"slices"
	"testing"
)

// holds builds a map from lists of requests and compares the map with the lists.
func holds(t *testing.T, elems int64, lists ...[]Req) *Map {
	t.Helper()
	m := (&naive{dims: []int64{elems}, reqs: lists}).build(t)
	for r, want := range lists {
		if got := m.AppendReqs(nil, r); !slices.Equal(got, want) {
			t.Fatalf("rank %d: %v, want %v", r, got, want)
		}
	}
	return m
}

// TestRepetitionEnds: a repetition ends at a request of another length, even if the distances of the requests repeat.
func TestRepetitionEnds(t *testing.T) {
	for _, other := range []int{3, 63, 64, 65, 127, 150, 299} {
		var list []Req
		for i := range 300 {
			q := Req{int64(i) * 10, 3}
			if i >= other {
				q.Length = 4
			}
			list = append(list, q)
		}
		holds(t, 3000, list)
		var pairs []Req
		for _, q := range list {
			pairs = append(pairs, Req{q.Offset, 2}, Req{q.Offset + 5, q.Length})
		}
		holds(t, 3010, pairs)
	}
}

// TestWidePatterns tests runs more than 32 bits apart, alone and repeated.
func TestWidePatterns(t *testing.T) {
	const far = 1 << 33
	var repeated, single []Req
	for i := range int64(100) {
		repeated = append(repeated, Req{10 * i, 3}, Req{far + 10*i, 3})
		single = append(single, Req{i * i * far / 16, 1})
	}
	holds(t, 1<<50, repeated, single)
}

// TestPatternsOfOneHash: two patterns with the same hash stay distinct.
func TestPatternsOfOneHash(t *testing.T) {
	step := func(h uint64, rel, end int32) uint64 { // as in Builder.keep
		return bits.RotateLeft64(h^(uint64(uint32(rel))<<32|uint64(uint32(end))), 29) * 0xbf58476d1ce4e5b9
	}
	const d, e = 1000, 12 // the first pattern: 5 elements at 0, 7 at 1000
	h := step(2, 0, 5)
	for n := int32(1); n < 10000; n++ {
		if n == 5 {
			continue
		}
		x := uint64(d)<<32 | e
		x ^= h ^ step(2, 0, n)
		rel, end := int32(x>>32), int32(x)
		if rel <= n || end <= n || end > maxPattern || rel > maxPattern {
			continue
		}
		if step(h, d, e) != step(step(2, 0, n), rel, end) {
			t.Fatal("this is no longer the hash of Builder.keep")
		}
		holds(t, 1<<40, []Req{{0, 5}, {d, e - 5}}, []Req{{0, int64(n)}, {int64(rel), int64(end - n)}})
		return
	}
	t.Fatal("no second pattern")
}

// TestSumOfElements: the total number of elements of all ranks is limited, too.
func TestSumOfElements(t *testing.T) {
	b := NewBuilder([]int64{1 << 62}, 2)
	for r := range 2 {
		must(b.Set(r, []Req{{0, 1 << 62}}))
	}
	if m, err := b.Map(); !errors.Is(err, ErrUsage) {
		t.Errorf("%d elements: %v", m.Total(), err)
	}
}

// TestEqualByLengths: two maps are not equal if they have the same elements but different runs, alone or repeated.
func TestEqualByLengths(t *testing.T) {
	for _, n := range []int64{1, 100} {
		var a, b []Req
		for i := range n {
			o := 30 * i
			a = append(a, Req{o, 2}, Req{o + 10, 3}, Req{o + 20, 1})
			b = append(b, Req{o, 3}, Req{o + 10, 2}, Req{o + 20, 1})
		}
		x, y := holds(t, 30*n, a), holds(t, 30*n, b)
		if x.Equal(y) || !x.Equal(holds(t, 30*n, a)) {
			t.Errorf("%d times: Equal %v, of itself %v", n, x.Equal(y), x.Equal(holds(t, 30*n, a)))
		}
	}
	a := (&naive{dims: []int64{2, 3}, reqs: [][]Req{{{0, 6}}}}).build(t)
	b := (&naive{dims: []int64{3, 2}, reqs: [][]Req{{{0, 6}}}}).build(t)
	if a.Equal(b) {
		t.Error("maps of transposed arrays are equal")
	}
}

// TestBlocksOutOfOrder: Scatter and Clip find runs in a range even if runs outside the range come before them in the list.
func TestBlocksOutOfOrder(t *testing.T) {
	var list []Req
	for i := range int64(100) {
		list = append(list, Req{5000 + 10*i, 3})
	}
	for i := range int64(100) {
		list = append(list, Req{7 * i, 2})
	}
	n := &naive{dims: []int64{6000}, reqs: [][]Req{list}}
	m := n.build(t)
	blob := fill(500, 1)
	got, want := make([]byte, 700), make([]byte, 700)
	for _, p := range n.clip(0, 0, 700) {
		copy(want[p.Off:p.Off+p.Len], blob[p.Pos:])
	}
	m.Scatter(got, 0, blob, 0, 0, 1)
	if !slices.Equal(got, want) {
		t.Error("Scatter of the first part of the array")
	}
	if got := slices.Collect(m.Clip(0, 0, 700)); !slices.Equal(got, n.clip(0, 0, 700)) {
		t.Errorf("Clip: %d pieces, want %d", len(got), len(n.clip(0, 0, 700)))
	}
}

// TestIndexOfLongRun: a run of more than 2^31 elements is one run, with its positions.
func TestIndexOfLongRun(t *testing.T) {
	const n = 1 << 34
	m := holds(t, n, []Req{{0, n}})
	ix := need(m.Index())
	for _, at := range []int64{0, 1<<31 - 2, 1<<31 - 1, 1 << 31, 1 << 32, 3 << 32, n - 1} {
		if o, ok := ix.At(at); !ok || o.Off != at || o.Pos != at || o.Rank != 0 {
			t.Errorf("element %d: %+v %v", at, o, ok)
		}
	}
}

// TestIndexOfOverlappingPatterns: patterns with different repetitions overlap. The highest rank owns an element, through its
// last request.
func TestIndexOfOverlappingPatterns(t *testing.T) {
	every := func(first, step, length, n int64) (l []Req) {
		for i := range n {
			l = append(l, Req{first + i*step, length})
		}
		return l
	}
	const elems = 5000
	shapes := [][]Req{
		every(0, 10, 7, 450), every(3, 7, 4, 600), every(100, 13, 5, 300), every(2000, 1, 1, 40),
	}
	for shift := range shapes {
		var lists [][]Req
		for r := range shapes {
			lists = append(lists, shapes[(r+shift)%len(shapes)])
		}
		lists = append(lists, append(slices.Clone(lists[0]), every(5, 11, 3, 400)...)) // a rank with two of the shapes
		if shift%2 == 1 {
			lists = lists[:2] // few lanes, so that no class is expanded
		}
		m := holds(t, elems, lists...)
		ix := need(m.Index())
		n := &naive{dims: []int64{elems}, elems: elems, reqs: lists}
		n.owns(t, ix, 0, elems)
	}
}
