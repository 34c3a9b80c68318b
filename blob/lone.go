package blob

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"blobio/cdf5"
)

// Variables without a decomposition are lone: each subfile has them whole, and its first rank writes them. Any rank may put them. What the
// other ranks put stays with them until the next flush, which begins with an agreement: it compares hashes of what the ranks have put,
// without the ranks that have put nothing. If the first ranks of all subfiles have put something, and all is the same, nothing is sent. Otherwise
// all ranks learn what was put, and the first ranks take it for their own.

// lonePut is a put of a lone variable by a rank that does not write it, in the type of the file and the order of the host. start is nil if
// it is the whole record.
type lonePut struct {
	part
	same *common // which has raw; nil: it is lent
}

// keepLone keeps a put until the flush. start is nil: all of it.
func (w *Writer) keepLone(v VarID, sv *Variable, rec int64, start, count []int64, mem cdf5.Type, raw []byte) error {
	if !sv.Record {
		rec = 0
	}
	if w.each { // it only counts that it was put
		w.seen = append(w.seen, lonePut{part: part{pend: pend{rec: rec, v: w.id(v), mem: sv.Type}}})
		return nil
	}
	p := lonePut{part: part{pend: pend{raw: raw, rec: rec, v: w.id(v), mem: sv.Type}, start: slices.Clone(start), count: slices.Clone(count)}}
	if !sameType(mem, sv.Type) {
		p.raw = make([]byte, len(raw)/mem.Size()*sv.Type.Size())
		if err := toFile(p.raw, hostBig, sv.Type, mem, raw); err != nil {
			return fmt.Errorf("put of %q record %d: %w", sv.Name, rec, err)
		}
	}
	if w.opt.Retain == CopyOnPut {
		c, err := w.eng.proc.copyOf(p.raw)
		if err != nil {
			return fmt.Errorf("put of %q record %d: %w", sv.Name, rec, err)
		}
		p.raw, p.same = c.raw, c
	} else if p.raw == nil {
		p.raw = []byte{}
	}
	if start == nil {
		w.dropSeen(func(q *pend) bool { return q.v == p.v && q.rec == p.rec })
	}
	w.seen = append(w.seen, p)
	return nil
}

// dropSeen gives up what this rank has put and others write.
func (w *Writer) dropSeen(gone func(p *pend) bool) {
	w.seen = slices.DeleteFunc(w.seen, func(p lonePut) bool {
		drop := gone(&p.pend)
		if drop && p.same != nil {
			w.eng.proc.dropCopy(p.same)
		}
		return drop
	})
}

func always(*pend) bool { return true }

// lones lists what this rank has put of lone variables since the last flush, by variable and record and then in the order of the
// puts, in the type of the file and the order of the host.
func (w *Writer) lones() (list []part, err error) {
	take := func(p part) {
		sv := &w.eng.schema.vars[p.v]
		if mem := p.mem; !sameType(mem, sv.Type) && err == nil {
			b := make([]byte, len(p.raw)/mem.Size()*sv.Type.Size())
			err = toFile(b, hostBig, sv.Type, mem, p.raw)
			p.raw, p.mem = b, sv.Type
		}
		list = append(list, p)
	}
	for i := range w.pending {
		if p := &w.pending[i]; p.v >= 0 && w.eng.schema.vars[p.v].Decomp == 0 {
			take(part{pend: *p})
		}
	}
	for _, p := range w.parts {
		take(p)
	}
	for i := range w.seen {
		list = append(list, w.seen[i].part)
	}
	order := func(a, b part) int { return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.rec, b.rec)) }
	if !slices.IsSortedFunc(list, order) {
		slices.SortStableFunc(list, order)
	}
	return list, err
}

// loneSum is a hash of puts of lone variables, with their values.
func loneSum(list []part) uint64 {
	h := uint64(hashOdd)
	for i := range list {
		p := &list[i]
		h = hashAdd(hashAdd(hashAdd(h, uint64(p.v)), uint64(p.rec)), sumOf(p.raw))
		for _, x := range [2][]int64{p.start, p.count} {
			for _, n := range x {
				h = hashAdd(h, uint64(n))
			}
		}
	}
	return h >> 1
}

// noLones is loneSum of nothing.
var noLones = int64(loneSum(nil))

// noSay is the word of a rank that leaves the minimum to others.
const noSay = math.MaxInt64

// loneWords are the words for AgreeMin by which ranks learn whether they have put the same of lone variables: loneSum and its complement. A rank
// that writes none and has put none has no say. mine is what this one has put.
func (w *Writer) loneWords() (mine []part, words [2]int64, err error) {
	words = [2]int64{noSay, noSay}
	if w.eng == nil {
		return nil, words, nil
	}
	if mine, err = w.lones(); err != nil || len(mine) == 0 && w.sub.Rank() != 0 {
		return mine, words, err
	}
	if w.each {
		for i := range mine {
			mine[i].raw = nil
		}
	}
	sum := int64(loneSum(mine))
	return mine, [2]int64{sum, ^sum}, nil
}
