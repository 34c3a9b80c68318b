package write

import (
	"blobio/blob/internal/dataset"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Variables without a decomposition are undivided: each subfile has them whole, and its first rank writes them. Any rank may put them. Puts of
// the other ranks stay with them until the next flush, which begins with an agreement: it compares hashes of what the ranks have put,
// without the ranks that have put nothing. If the first ranks of all subfiles have put something, and all is the same, nothing is sent. Otherwise
// all ranks learn what was put, and the first ranks take it for their own.

// undividedPut is a put of an undivided variable by a rank that does not write it, in the type of the file and the order of the host. start is nil if
// it is the whole record.
type undividedPut struct {
	part
	same *common // which has raw; nil: it is lent
}

// keepUndivided keeps a put until the flush. If put.start is nil, it is the whole record.
func (ps *puts) keepUndivided(sv *dataset.Variable, put part) error {
	if !sv.Record {
		put.Rec = 0
	}
	rec, mem, raw := put.Rec, put.Mem, put.Raw
	put.Mem = sv.Type
	if ps.each { // it only counts that it was put
		ps.seen = append(ps.seen, undividedPut{part: part{Pend: Pend{Rec: rec, V: put.V, Mem: sv.Type}}})
		return nil
	}
	p := undividedPut{part: put}
	p.start, p.count = slices.Clone(put.start), slices.Clone(put.count)
	if !dataset.SameType(mem, sv.Type) {
		p.Raw = make([]byte, len(raw)/mem.Size()*sv.Type.Size())
		if err := dataset.ToFile(p.Raw, dataset.HostBig, sv.Type, mem, raw); err != nil {
			return fmt.Errorf("put of %q record %d: %w", sv.Name, rec, err)
		}
	}
	if ps.job.Opt.Retain == dataset.CopyOnPut {
		c, err := ps.job.Eng.Proc.copyOf(p.Raw)
		if err != nil {
			return fmt.Errorf("put of %q record %d: %w", sv.Name, rec, err)
		}
		p.Raw, p.same = c.raw, c
	} else if p.Raw == nil {
		p.Raw = []byte{}
	}
	if p.start == nil {
		ps.dropSeen(func(q *Pend) bool { return q.V == p.V && q.Rec == p.Rec })
	}
	ps.seen = append(ps.seen, p)
	return nil
}

// dropSeen gives up what this rank has put and others write.
func (ps *puts) dropSeen(gone func(p *Pend) bool) {
	ps.seen = slices.DeleteFunc(ps.seen, func(p undividedPut) bool {
		drop := gone(&p.Pend)
		if drop && p.same != nil {
			ps.job.Eng.Proc.dropCopy(p.same)
		}
		return drop
	})
}

func always(*Pend) bool { return true }

// undivided lists what this rank has put of undivided variables since the last flush, by variable and record and then in the order of the
// puts, in the type of the file and the order of the host.
func (ps *puts) undivided() (list []part, err error) {
	take := func(p part) {
		sv := &ps.job.Eng.Layout.Schema.Vars[p.V]
		if mem := p.Mem; !dataset.SameType(mem, sv.Type) && err == nil {
			b := make([]byte, len(p.Raw)/mem.Size()*sv.Type.Size())
			err = dataset.ToFile(b, dataset.HostBig, sv.Type, mem, p.Raw)
			p.Raw, p.Mem = b, sv.Type
		}
		list = append(list, p)
	}
	for i := range ps.list {
		if p := &ps.list[i]; p.V >= 0 && ps.job.Eng.Layout.Schema.Vars[p.V].Decomp == 0 {
			take(part{Pend: *p})
		}
	}
	for _, p := range ps.parts {
		take(p)
	}
	for i := range ps.seen {
		list = append(list, ps.seen[i].part)
	}
	order := func(a, b part) int { return cmp.Or(cmp.Compare(a.V, b.V), cmp.Compare(a.Rec, b.Rec)) }
	if !slices.IsSortedFunc(list, order) {
		slices.SortStableFunc(list, order)
	}
	return list, err
}

// undividedSum is a hash of puts of undivided variables, with their values.
func undividedSum(list []part) uint64 {
	h := uint64(hashOdd)
	for i := range list {
		p := &list[i]
		h = hashAdd(hashAdd(hashAdd(h, uint64(p.V)), uint64(p.Rec)), sumOf(p.Raw))
		for _, x := range [2][]int64{p.start, p.count} {
			for _, n := range x {
				h = hashAdd(h, uint64(n))
			}
		}
	}
	return h >> 1
}

// noUndivided is undividedSum of nothing.
var noUndivided = int64(undividedSum(nil))

// noSay is the word of a rank that leaves the minimum to others.
const noSay = math.MaxInt64

// undividedWords are the words for AgreeMin by which ranks learn whether they have put the same of undivided variables: undividedSum and its complement. A rank
// that writes none and has put none has no say. mine is what this one has put.
func (ps *puts) undividedWords() (mine []part, words [2]int64, err error) {
	words = [2]int64{noSay, noSay}
	if ps.job.Eng == nil {
		return nil, words, nil
	}
	if mine, err = ps.undivided(); err != nil || len(mine) == 0 && ps.job.sub.Rank() != 0 {
		return mine, words, err
	}
	if ps.each {
		for i := range mine {
			mine[i].Raw = nil
		}
	}
	sum := int64(undividedSum(mine))
	return mine, [2]int64{sum, ^sum}, nil
}
