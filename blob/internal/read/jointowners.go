package read

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/radix"
)

// owners holds which ranks send the elements that a plan wants to this rank, and which elements this rank sends to others. It
// holds for all variables with the same map.
type owners struct {
	shares              // division of all stored elements
	sole   int          // the rank that reads everything; -1 if shares apply
	from   []portion    // elements that this rank receives, sorted by at
	bound  []int        // from[bound[i]:] are the elements of share i and later shares
	holes  []decomp.Req // received elements without an owner

	to    map[int][]portion // by rank: elements of this rank's reads that the rank receives; at is an index in union
	union []portion         // elements that this rank reads, each once, sorted by at; to is the number of earlier elements
	read  int64             // number of elements in union

	most int64 // number of elements that the busiest reader reads
	out  int64 // number of elements that the busiest sender sends
}

// portion is elements [at, at+n) of all stored elements. The same elements are [to, to+n) in a second sequence.
type portion struct{ at, n, to int64 }

func atOf(x *portion) int64 { return x.at }

// rankOf returns the rank that reads share i.
func (o *owners) rankOf(i int64, ranks int) int {
	if o.sole >= 0 {
		return o.sole
	}
	return o.rank(i, ranks)
}

// owners finds the owners of the elements that the plan wants of variables with a map. Further calls return the same result.
// Collective.
func (p *ReadPlan) owners(ctx context.Context, js *jointSet, key mapKey) (*owners, error) {
	if o := p.own[key]; o != nil {
		return o, nil
	}
	k := p.k
	o := &owners{sole: -1, to: map[int][]portion{}}
	var list []stored
	var base []int64
	var lost error
	if js.lead == nil { // all subfiles are missing, see deliver
		o.shares = sharesOf(0, 1, 1)
		o.bound = make([]int, o.parts+1)
		p.own[key] = o
		return o, nil
	}
	if key.d == 0 {
		o.shares = k.shares(key.elems, key.elems*4)
		if js.packed() {
			o.shares, o.sole = sharesOf(key.elems, key.elems, 1), k.Keeper(js.s, js.first)
		}
		for _, q := range p.uniq {
			list = append(list, stored{q.Offset, q.Length, q.Offset})
		}
	} else {
		dir, err := k.directory(ctx, key)
		if err != nil {
			return nil, err
		}
		v, err := k.view(ctx, js.home, key.d)
		if err != nil {
			return nil, err
		}
		o.shares, lost, base = v.shares, dir.lost, js.home.base[key.d-1]
		if list, err = p.ask(ctx, dir); err != nil {
			return nil, err
		}
	}
	err := p.take(o, list, base)
	if err == nil && len(o.holes) > 0 {
		err = lost // a lost subfile may have the elements without an owner
	}
	if err := p.order(ctx, o, err); err != nil {
		return nil, err
	}
	p.own[key] = o
	return o, nil
}

// ask asks the directory's ranks where the elements are that the plan wants. Collective.
func (p *ReadPlan) ask(ctx context.Context, dir *directory) ([]stored, error) {
	c := p.k.C
	ranks := c.Size()
	asks := map[int]*coder{}
	for _, q := range p.uniq {
		for off := q.Offset; off < q.End(); {
			i := dir.of(off)
			n := min(q.End(), dir.from(i+1)) - off
			to := dir.rank(i, ranks)
			if asks[to] == nil {
				asks[to] = &coder{}
			}
			asks[to].add(stored{off: off, n: n})
			off += n
		}
	}
	got, err := c.Alltoallv(ctx, messages(asks, ranks))
	if err != nil {
		return nil, err
	}
	answers := map[int]*coder{}
	for rank, b := range got {
		if len(b) > 0 {
			a := &coder{}
			decodeStored(b, func(s stored) { dir.find(a, s.off, s.n) })
			answers[rank] = a
		}
	}
	if got, err = c.Alltoallv(ctx, messages(answers, ranks)); err != nil {
		return nil, err
	}
	var list []stored
	for _, b := range got { // in the order of the ranges
		decodeStored(b, func(s stored) {
			if n := len(list) - 1; n >= 0 && list[n].off+list[n].n == s.off && list[n].at+list[n].n == s.at {
				list[n].n += s.n
				return
			}
			list = append(list, s)
		})
	}
	return list, nil
}

func messages(to map[int]*coder, ranks int) [][]byte {
	if len(to) == 0 {
		return nil
	}
	m := make([][]byte, ranks)
	for i, c := range to {
		m[i] = c.b
	}
	return m
}

// take records where the found elements come from, and which elements have no owner. list is sorted by off.
func (p *ReadPlan) take(o *owners, list []stored, base []int64) error {
	end := func(at int64) int64 { // end of the subfile
		if base == nil {
			return math.MaxInt64
		}
		return base[sort.Search(len(base)-1, func(i int) bool { return base[i] > at })]
	}
	hole := func(from, to int64) {
		if from < to {
			o.holes = append(o.holes, decomp.Req{Offset: from, Length: to - from})
		}
	}
	u, i := int64(0), 0 // elements before u are done
	for _, s := range list {
		for s.n > 0 { // the entry may extend beyond a wanted run
			for i < len(p.uniq) && p.uniq[i].End() <= s.off {
				i++
			}
			if i == len(p.uniq) || s.off < p.uniq[i].Offset {
				return fmt.Errorf("%s: another rank returned element %d, which was not requested: %w", p.k.r.Files.Base, s.off, dataset.ErrBroken)
			}
			n := min(s.n, p.uniq[i].End()-s.off)
			to := p.at[i] + s.off - p.uniq[i].Offset
			hole(u, to)
			u = to + n
			for at := s.at; at < s.at+n; {
				m := min(s.at+n, o.shares.from(o.of(at)+1), end(at)) - at
				o.from = append(o.from, portion{at, m, to})
				at, to = at+m, to+m
			}
			s = stored{s.off + n, s.n - n, s.at + n}
		}
	}
	hole(u, p.wanted())
	radix.Sort(o.from, atOf)
	o.bound = make([]int, o.parts+1)
	for i := range o.parts {
		o.bound[i+1] = sort.Search(len(o.from), func(j int) bool { return o.from[j].at >= o.shares.from(i+1) })
	}
	return nil
}

// order sends each rank the list of elements that this rank wants from it. If some rank has an error, no list is sent.
// Collective.
func (p *ReadPlan) order(ctx context.Context, o *owners, err error) error {
	c := p.k.C
	if err := comm.Agree(ctx, c, err); err != nil {
		return err
	}
	ranks := c.Size()
	asks := map[int]*coder{}
	for i := range o.parts {
		if l := o.from[o.bound[i]:o.bound[i+1]]; len(l) > 0 {
			a := &coder{}
			for _, x := range l {
				a.add(stored{n: x.n, at: x.at})
			}
			asks[o.rankOf(i, ranks)] = a
		}
	}
	got, err := c.Alltoallv(ctx, messages(asks, ranks))
	if err != nil {
		return err
	}
	out := int64(0)
	for rank, b := range got {
		var l []portion
		decodeStored(b, func(s stored) {
			l = append(l, portion{at: s.at, n: s.n})
			if rank != c.Rank() {
				out += s.n
			}
		})
		if len(l) > 0 {
			o.to[rank] = l
			o.union = append(o.union, l...)
		}
	}
	radix.Sort(o.union, atOf)
	o.union = joined(o.union)
	for i := range o.union {
		o.union[i].to = o.read
		o.read += o.union[i].n
	}
	for _, l := range o.to {
		for i := range l {
			u := o.union[sort.Search(len(o.union), func(j int) bool { return o.union[j].at > l[i].at })-1]
			l[i].at = u.to + l[i].at - u.at
		}
	}
	all, err := comm.AgreeMin(ctx, c, nil, ^o.read, ^out)
	if err == nil {
		o.most, o.out = ^all[0], ^all[1]
	}
	return err
}

// joined merges portions that overlap or touch. l is sorted.
func joined(l []portion) []portion {
	n := 0
	for _, x := range l {
		if n > 0 && x.at <= l[n-1].at+l[n-1].n {
			l[n-1].n = max(l[n-1].n, x.at+x.n-l[n-1].at)
			continue
		}
		l[n] = x
		n++
	}
	return slices.Clip(l[:n])
}

// damage returns the error of the first unreadable subfile that has elements wanted by this rank, or nil.
func (o *owners) damage(js *jointSet, d dataset.DecompID) error {
	for part, err := range js.bad {
		if err != nil && len(o.within(js, d, part)) > 0 {
			return err
		}
	}
	return nil
}

// within returns the elements that this rank wants from a subfile, if the set uses the maps of another set. For a set with its
// own maps it returns nothing, because reading the maps has shown such faults.
func (o *owners) within(js *jointSet, d dataset.DecompID, part int) []portion {
	if d == 0 || js == js.home {
		return nil
	}
	base := js.home.base[d-1]
	a := sort.Search(len(o.from), func(j int) bool { return o.from[j].at >= base[part] })
	b := sort.Search(len(o.from), func(j int) bool { return o.from[j].at >= base[part+1] })
	return o.from[a:b]
}

// lacks returns the received elements that no subfile of a set holds.
func (o *owners) lacks(js *jointSet, d dataset.DecompID, wanted int64) []decomp.Req {
	if js.lead == nil {
		return []decomp.Req{{Length: wanted}}
	}
	holes := o.holes
	for part, gone := range js.gone {
		if gone {
			for _, x := range o.within(js, d, part) {
				holes = append(slices.Clip(holes), decomp.Req{Offset: x.to, Length: x.n})
			}
		}
	}
	slices.SortFunc(holes, func(a, b decomp.Req) int { return cmp.Compare(a.Offset, b.Offset) })
	return holes
}
