package decomp

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMapHoldsRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m := n.build(t)
		if m.Elems() != n.elems || m.Ranks() != len(n.reqs) || !slices.Equal(m.Dims(), n.dims) {
			t.Fatalf("shape %v %d %d", m.Dims(), m.Elems(), m.Ranks())
		}
		total, most := int64(0), int64(0)
		for r, reqs := range n.reqs {
			if got := m.AppendReqs(nil, r); !slices.Equal(got, reqs) {
				t.Fatalf("rank %d: AppendReqs\n%v, want\n%v", r, got, reqs)
			}
			if got := slices.Collect(m.Reqs(r)); !slices.Equal(got, reqs) {
				t.Fatalf("rank %d: Reqs\n%v, want\n%v", r, got, reqs)
			}
			if m.NumReqs(r) != int64(len(reqs)) {
				t.Fatalf("rank %d: NumReqs %d, want %d", r, m.NumReqs(r), len(reqs))
			}
			count := int64(0)
			lo, hi := int64(-1), int64(0)
			for _, q := range reqs {
				count += q.Length
				if q.Length > 0 {
					if lo < 0 || q.Offset < lo {
						lo = q.Offset
					}
					hi = max(hi, q.End())
				}
			}
			gotLo, gotHi := m.Bounds(r)
			if m.Count(r) != count || gotLo != max(lo, 0) || gotHi != hi {
				t.Fatalf("rank %d: count %d bounds %d %d, want %d %d %d", r, m.Count(r), gotLo, gotHi, count, lo, hi)
			}
			total += count
			most = max(most, int64(len(reqs)))
		}
		if m.Total() != total || m.MaxReqs() != most {
			t.Fatalf("total %d, most %d, want %d %d", m.Total(), m.MaxReqs(), total, most)
		}
	})
}

func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m := n.build(t)
		for r := range n.reqs {
			lo := rapid.Int64Range(-3, n.elems+3).Draw(t, "lo")
			hi := rapid.Int64Range(-3, n.elems+3).Draw(t, "hi")
			if diff := cmp.Diff(n.clip(r, lo, hi), slices.Collect(m.Clip(r, lo, hi))); diff != "" {
				t.Fatalf("rank %d [%d,%d): -want +got\n%s", r, lo, hi, diff)
			}
			from, to := int64(0), int64(0)
			for i, c := range n.clip(r, lo, hi) {
				if i == 0 {
					from = c.Pos
				}
				from, to = min(from, c.Pos), max(to, c.Pos+c.Len)
			}
			if a, b := m.Positions(r, lo, hi); max(b-a, 0) != to-from || a < b && a != from {
				t.Fatalf("rank %d has [%d,%d) of [%d,%d), want [%d,%d)", r, a, b, lo, hi, from, to)
			}
			taken := 0
			for range m.Clip(r, 0, n.elems) { // stopping early must work
				if taken++; taken == 3 {
					break
				}
			}
		}
	})
}

func TestScatterGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m := n.build(t)
		width := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16}).Draw(t, "width")
		for r := range n.reqs {
			lo := rapid.Int64Range(0, n.elems).Draw(t, "lo")
			hi := rapid.Int64Range(lo, n.elems).Draw(t, "hi")
			pos := rapid.Int64Range(0, m.Count(r)).Draw(t, "pos")
			pend := rapid.Int64Range(pos, m.Count(r)).Draw(t, "pend")
			if rapid.Bool().Draw(t, "all") {
				lo, hi, pos, pend = 0, n.elems, 0, m.Count(r)
			}
			moves(t, m, r, lo, hi, pos, pend, width, rapid.IntRange(0, 3).Draw(t, "lead"), n.clip(r, lo, hi))
		}
	})
}

// moves compares Scatter and Gather with the pieces of a rank, for [lo, hi) of the array and [pos, pend) of the blob. lead
// shifts the start of the slices in memory, so that they are not aligned.
func moves(t interface{ Fatalf(string, ...any) }, m *Map, r int, lo, hi, pos, pend int64, width, lead int, pieces []Piece) {
	canon := fill(lead+int(hi-lo)*width, 1)[lead:]
	blob := fill(lead+int(pend-pos)*width, 101)[lead:]
	wantCanon, wantBlob := slices.Clone(canon), slices.Clone(blob)
	for _, p := range pieces {
		for k := max(0, pos-p.Pos); k < min(p.Len, pend-p.Pos); k++ {
			c, b := int(p.Off+k-lo)*width, int(p.Pos+k-pos)*width
			copy(wantCanon[c:c+width], blob[b:])
			copy(wantBlob[b:b+width], canon[c:])
		}
	}
	gotCanon, gotBlob := slices.Clone(canon), slices.Clone(blob)
	m.Scatter(gotCanon, lo, blob, pos, r, width)
	m.Gather(gotBlob, pos, canon, lo, r, width)
	if !bytes.Equal(gotCanon, wantCanon) || !bytes.Equal(gotBlob, wantBlob) {
		t.Fatalf("rank %d [%d,%d) [%d,%d) width %d\nScatter %v want\n%v\nGather %v want\n%v", r, lo, hi, pos, pend, width, gotCanon, wantCanon, gotBlob, wantBlob)
	}
}

func fill(n int, seed uint32) []byte {
	b := make([]byte, n)
	for i := range b {
		seed = seed*1664525 + 1013904223
		b[i] = byte(seed >> 24)
	}
	return b
}

func TestSub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genNaive(t)
		m := n.build(t)
		cut := rapid.IntRange(0, len(n.reqs)).Draw(t, "cut")
		a, b := m.Sub(0, cut), m.Sub(cut, len(n.reqs)-cut)
		one := &naive{dims: n.dims, elems: n.elems, reqs: n.reqs[cut:]}
		if a.Ranks()+b.Ranks() != len(n.reqs) || a.Total()+b.Total() != m.Total() || max(a.MaxReqs(), b.MaxReqs()) != m.MaxReqs() {
			t.Fatal("wrong totals")
		}
		for r, reqs := range n.reqs {
			part, at := a, r
			if r >= cut {
				part, at = b, r-cut
			}
			if got := part.AppendReqs(nil, at); !slices.Equal(got, reqs) {
				t.Fatalf("rank %d: %v, want %v", r, got, reqs)
			}
		}
		if b2 := one.build(t); !b.Equal(b2) {
			t.Fatal("a part is not equal to the map of its ranks alone")
		}
	})
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		dims []int64
		rank int
		reqs []Req
		want error
	}{
		{"negative offset", []int64{10}, 0, []Req{{0, 1}, {-1, 2}}, ErrRange},
		{"negative length", []int64{10}, 0, []Req{{3, -1}}, ErrRange},
		{"beyond the end", []int64{2, 5}, 0, []Req{{8, 3}}, ErrRange},
		{"length overflows", []int64{10}, 0, []Req{{5, 1<<63 - 1}}, ErrRange},
		{"rank", []int64{10}, 2, nil, ErrUsage},
		{"dims too large", []int64{1 << 40, 1 << 40}, 0, nil, ErrUsage},
		{"dims negative", []int64{-1}, 0, nil, ErrUsage},
	} {
		b := NewBuilder(c.dims, 2)
		if err := b.Set(c.rank, c.reqs); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	b := NewBuilder([]int64{2, 5}, 8)
	err := b.Set(7, []Req{{0, 1}, {8, 3}})
	want := "rank 7: request 1 with offset 8 and length 3 is outside the array [2 5] of 10 elements"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	must(b.Set(3, []Req{{0, 1}}))
	if err := b.Set(3, []Req{{0, 1}}); !errors.Is(err, ErrUsage) {
		t.Errorf("second Set: %v", err)
	}
	if _, err := b.Map(); err != nil {
		t.Error(err)
	}
	if _, err := b.Map(); !errors.Is(err, ErrUsage) {
		t.Errorf("second Map: %v", err)
	}
	if err := b.Set(1, nil); !errors.Is(err, ErrUsage) {
		t.Errorf("Set after Map: %v", err)
	}
}

func TestRanksBeyondTheMap(t *testing.T) {
	m := Regular([]int64{10}, 2)
	for _, r := range []int{-1, 2, 99} {
		if m.Count(r) != 0 || m.NumReqs(r) != 0 || len(m.AppendReqs(nil, r)) != 0 {
			t.Errorf("rank %d owns something", r)
		}
		for range m.Clip(r, 0, 10) {
			t.Errorf("rank %d clips something", r)
		}
		if from, to := m.Positions(r, 0, 10); from < to {
			t.Errorf("rank %d has positions", r)
		}
		m.Scatter(make([]byte, 10), 0, make([]byte, 10), 0, r, 1)
	}
}

func TestLongRuns(t *testing.T) {
	const big = int64(1) << 40
	reqs := []Req{{0, big}, {big + 1, 5}, {3 * big, 1 << 33}, {2 * big, 7}, {0, 1}}
	n := &naive{dims: []int64{4 * big}, elems: 4 * big, reqs: [][]Req{reqs}}
	m := n.build(t)
	if got := m.AppendReqs(nil, 0); !slices.Equal(got, reqs) {
		t.Fatalf("%v, want %v", got, reqs)
	}
	lo, hi := big-2, 2*big+3
	if diff := cmp.Diff(n.clip(0, lo, hi), slices.Collect(m.Clip(0, lo, hi))); diff != "" {
		t.Fatal(diff)
	}
}
