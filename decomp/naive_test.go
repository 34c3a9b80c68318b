package decomp

import (
	"slices"
	"sort"

	"pgregory.net/rapid"
)

// naive is the simplest implementation of a Map.
type naive struct {
	dims  []int64
	reqs  [][]Req
	elems int64
}

func (n *naive) build(t interface{ Fatal(...any) }) *Map {
	b := NewBuilder(n.dims, len(n.reqs))
	for r, reqs := range n.reqs {
		must(b.Set(r, reqs))
	}
	return need(b.Map())
}

// clip returns the expected result of Clip.
func (n *naive) clip(rank int, lo, hi int64) []Piece {
	var out []Piece
	pos := int64(0)
	for _, r := range n.reqs[rank] {
		from, to := max(lo, r.Offset), min(hi, r.End())
		if from < to {
			out = append(out, Piece{from, pos + from - r.Offset, to - from})
		}
		pos += r.Length
	}
	return out
}

// naiveCoalesce is a literal implementation of SortCoalesce's documentation.
func naiveCoalesce(reqs []Req, last int64) []Req {
	reqs = slices.Clone(reqs)
	sort.SliceStable(reqs, func(i, j int) bool { return reqs[i].Offset < reqs[j].Offset })
	var out []Req
	for _, r := range reqs {
		if n := len(out); n > 0 && r.Offset%last != 0 && r.Offset <= out[n-1].End() {
			out[n-1].Length += r.Length
			continue
		}
		out = append(out, r)
	}
	return out
}

// genReqs draws a list of requests with repetitions, holes, overlaps and bad order.
func genReqs(t *rapid.T, elems int64, label string) []Req {
	if elems == 0 {
		return nil
	}
	var out []Req
	for range rapid.IntRange(0, 4).Draw(t, label+" parts") {
		pat := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Req {
			o := rapid.Int64Range(0, elems-1).Draw(t, "off")
			return Req{o, rapid.Int64Range(0, min(5, elems-o)).Draw(t, "len")}
		}), 1, 8).Draw(t, label+" pattern")
		if rapid.Bool().Draw(t, label+" ascending") {
			pat = naiveCoalesce(pat, elems+1)
			for i := range pat {
				pat[i].Length = min(pat[i].Length, elems-pat[i].Offset)
			}
		}
		reps := rapid.IntRange(1, 12).Draw(t, label+" reps")
		stride := rapid.Int64Range(0, elems).Draw(t, label+" stride")
		for r := range reps {
			for _, q := range pat {
				q.Offset += int64(r) * stride
				if q.End() <= elems {
					out = append(out, q)
				}
			}
		}
	}
	return out
}

func genNaive(t *rapid.T) *naive {
	n := &naive{dims: rapid.SliceOfN(rapid.Int64Range(0, 40), 1, 3).Draw(t, "dims")}
	n.elems = product(n.dims)
	for range rapid.IntRange(1, 4).Draw(t, "ranks") {
		reqs := genReqs(t, n.elems, "rank")
		if rapid.Bool().Draw(t, "coalesced") && n.elems > 0 {
			reqs = naiveCoalesce(reqs, n.dims[len(n.dims)-1])
			for i := range reqs { // sums of overlaps may exceed the array
				reqs[i].Length = min(reqs[i].Length, n.elems-reqs[i].Offset)
			}
		}
		n.reqs = append(n.reqs, reqs)
	}
	return n
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// need returns v and fails on an error.
func need[T any](v T, err error) T {
	must(err)
	return v
}
