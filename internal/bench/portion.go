package bench

import (
	"blobio/blob"
	"blobio/cdf5"
)

// portion is what is put between two flushes: all variables of some ranks, or some variables
// of all ranks. at[r-ranks[0]] is where the data of rank r begin in the arena.
type portion struct {
	ranks, vars [2]int
	at          []int64
}

// portions divides the work so that the data of one are at most limit bytes, but at least one
// subfile or one variable. A file is written from the front to the end in both ways, and is the same as with one flush.
func (t *task) portions(l blob.Layout, first []bool, limit int64) []portion {
	nv := len(t.c.Vars)
	if l == blob.VariableCentric && t.Subfiles == 1 {
		var out []portion
		from, held := 0, int64(0)
		add := func(to int) {
			p := portion{ranks: [2]int{0, t.Ranks}, vars: [2]int{from, to}}
			p.place(t)
			out = append(out, p)
		}
		for v := range nv {
			n := int64(0)
			if m := t.c.Vars[v].Map; m != 0 {
				_, mem := t.types(&t.c.Vars[v])
				n = t.maps[m-1].Total() * int64(mem.Size())
			}
			if v > from && held+n > limit {
				add(v)
				from, held = v, 0
			}
			held += n
		}
		add(nv)
		return out
	}
	var out []portion
	from, cut := 0, 0
	held, since := int64(0), int64(0) // since the last place where it may be cut
	for r := range t.Ranks {
		if r > from && (first[r] || t.Subfiles == 1) {
			cut, since = r, 0
		}
		n := t.rankBytes(r, 0, nv)
		if cut > from && held+n > limit {
			p := portion{ranks: [2]int{from, cut}, vars: [2]int{0, nv}}
			p.place(t)
			out = append(out, p)
			from, held = cut, since
		}
		held, since = held+n, since+n
	}
	p := portion{ranks: [2]int{from, t.Ranks}, vars: [2]int{0, nv}}
	p.place(t)
	return append(out, p)
}

// place gives the ranks their parts of the arena; the last entry is its size.
func (p *portion) place(t *task) {
	p.at = make([]int64, p.ranks[1]-p.ranks[0]+1)
	for i := range len(p.at) - 1 {
		p.at[i+1] = p.at[i] + t.rankBytes(p.ranks[0]+i, p.vars[0], p.vars[1])
	}
}

// rankBytes is what a rank holds of decomposed variables, each at a multiple of 8.
func (t *task) rankBytes(r, from, to int) (n int64) {
	for v := from; v < to; v++ {
		if m := t.c.Vars[v].Map; m != 0 {
			_, mem := t.types(&t.c.Vars[v])
			n += (t.maps[m-1].Count(r)*int64(mem.Size()) + 7) &^ 7
		}
	}
	return n
}

// walk calls f for each variable that a rank puts in a portion, with memory for it.
func (t *task) walk(p *portion, arena []byte, rank int, first bool, f func(v int, data any) error) error {
	if rank < p.ranks[0] || rank >= p.ranks[1] {
		return nil
	}
	at := p.at[rank-p.ranks[0]]
	for v := p.vars[0]; v < p.vars[1]; v++ {
		cv := &t.c.Vars[v]
		_, mem := t.types(cv)
		if cv.Map == 0 {
			if first {
				if err := f(v, nil); err != nil {
					return err
				}
			}
			continue
		}
		n := t.maps[cv.Map-1].Count(rank) * int64(mem.Size())
		if err := f(v, cdf5.View(mem, arena[at:at+n])); err != nil {
			return err
		}
		at += (n + 7) &^ 7
	}
	return nil
}
