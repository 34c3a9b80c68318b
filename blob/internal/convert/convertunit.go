package convert

import (
	"context"
	"sync"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/internal/base/par"
)

// work is a sequence of units of a conversion, in the order of a canonical file. It computes its units instead of listing them,
// because a small header may declare more records than fit into memory.
type work struct {
	c        *conversion
	fixed    []unit // units of the fixed variables; units of a record, which repeat for each record
	rec      []unit
	from, to int64
}

func (w work) len() int64 { return w.to - w.from }

// at returns unit k.
func (w work) at(k int64) unit {
	if k += w.from; k < int64(len(w.fixed)) {
		return w.fixed[k]
	}
	k -= int64(len(w.fixed))
	u := w.rec[k%int64(len(w.rec))]
	u.rec = k / int64(len(w.rec))
	return u
}

// before returns the number of bytes of units 0 to k-1 of the whole conversion.
func (w work) before(k int64) (n int64) {
	sum := func(l []unit) (n int64) {
		for _, u := range l {
			n += w.c.bytesOf(u)
		}
		return n
	}
	if k <= int64(len(w.fixed)) {
		return sum(w.fixed[:k])
	}
	k -= int64(len(w.fixed))
	per := int64(len(w.rec))
	return sum(w.fixed) + k/per*sum(w.rec) + sum(w.rec[:k%per])
}

// groups calls f, from several goroutines, with sequences of consecutive units. A sequence has at most limit bytes, or consists
// of one unit.
func (w work) groups(workers int, limit int64, f func(units []unit)) {
	var mu sync.Mutex
	par.Do(workers, workers, func(int) {
		var some []unit
		for {
			mu.Lock()
			some = w.c.take(&w, some[:0], limit, read.MaxWants)
			mu.Unlock()
			if len(some) == 0 {
				return
			}
			f(some)
		}
	})
}

// take appends the next units of w. It takes at most most units and limit bytes, but at least one unit.
func (c *conversion) take(w *work, some []unit, limit, most int64) []unit {
	sum := int64(0)
	for w.len() > 0 && int64(len(some)) < most {
		u := w.at(0)
		n := c.bytesOf(u)
		if len(some) > 0 && sum+n > limit {
			break
		}
		some, sum = append(some, u), sum+n
		w.from++
	}
	return some
}

func (w work) bytes() int64 { return w.before(w.to) - w.before(w.from) }

// mine returns this rank's units: a sequence with about the same number of bytes as the sequences of other ranks.
func (c *conversion) mine(all work) work {
	out := all
	if c.o.Compress.On() { // the offset of a compressed chunk depends on all earlier chunks, so root does all work
		if !c.ranks.root() {
			out.to = out.from
		}
		return out
	}
	n, rank := int64(c.ranks.Size()), int64(c.ranks.Rank())
	share := all.bytes()/n + 1
	// first returns the first unit whose middle is at or after a place.
	first := func(place int64) int64 {
		lo, hi := all.from, all.to
		for lo < hi {
			mid := lo + (hi-lo)/2
			if all.before(mid)+c.bytesOf(all.at(mid-all.from))/2 >= place {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo
	}
	out.from, out.to = first(rank*share), all.to
	if rank+1 < n {
		out.to = first((rank + 1) * share)
	}
	return out
}

func (c *conversion) bytesOf(u unit) int64 {
	return (u.hi - u.lo) * int64(c.Schema.Vars[u.v].Type.Size())
}

// unit is a part of a variable's record that is converted in one step.
type unit struct {
	v      dataset.VarID // variable of the output
	rec    int64         // record of the output
	lo, hi int64         // range of elements
}

// units returns the whole work, in units of at most limit bytes.
func (c *conversion) units(limit int64) work {
	w := work{c: c}
	for v := range c.Schema.Vars {
		n, size := c.Schema.Elems(dataset.VarID(v)), int64(c.Schema.Vars[v].Type.Size())
		step := max(1, limit/size)
		for lo := int64(0); lo < n; lo += min(step, n-lo) {
			u := unit{dataset.VarID(v), 0, lo, lo + min(step, n-lo)}
			if c.Schema.Vars[v].Record {
				w.rec = append(w.rec, u)
			} else {
				w.fixed = append(w.fixed, u)
			}
		}
	}
	w.to = int64(len(w.fixed)) + c.Records*int64(len(w.rec))
	return w
}

// read reads units of the source. Unit k goes into dst(k).
func (c *conversion) read(ctx context.Context, units []unit, dst func(k int) []byte, big bool) error {
	wants := make([]read.Want, len(units))
	for k, u := range units {
		wants[k] = c.Want(u.v, u.rec, u.lo, u.hi, dst(k), c.formOf(u.v, u.rec, u.hi-u.lo == c.Schema.Elems(u.v), big))
	}
	err := c.R.Elems.ReadAll(ctx, wants)
	if err != nil && c.Arrays != nil && ctx.Err() == nil { // the error may come from bytes outside the selected part
		err = nil
		for k := 0; k < len(wants) && err == nil; k++ {
			w := &wants[k]
			err = c.R.Elems.Exactly(ctx, w.V, w.Rec, w.All(), w.Dst, w.Fm)
		}
	}
	if err != nil {
		return err
	}
	return c.didRead(ctx, units)
}

// formOf returns the form in which to read a record, or a unit of a record that has several. The checksums of such a record are
// compared when its last unit has been read, or in settle, before the commit. If only a part of the dimensions is selected,
// damaged bytes outside the part are no error.
func (c *conversion) formOf(v dataset.VarID, rec int64, whole, big bool) read.Form {
	fm := c.form(big)
	if whole || c.Arrays != nil {
		return fm
	}
	fm.Later = c.late.record(unit{v: v, rec: rec}, c.bytesOf(unit{hi: c.Schema.Elems(v), v: v}))
	return fm
}

// didRead compares the checksums of each record whose last unit is among the units.
func (c *conversion) didRead(ctx context.Context, units []unit) error {
	for _, u := range units {
		if c.Arrays != nil || u.hi-u.lo == c.Schema.Elems(u.v) {
			continue
		}
		if err := c.late.didRead(ctx, unit{v: u.v, rec: u.rec}, c.bytesOf(u)); err != nil {
			return err
		}
	}
	return nil
}

// form returns the form for elements whose checksums are compared at once.
func (c *conversion) form(big bool) read.Form {
	return read.Form{Big: big, Zero: c.o.ZeroFill, Known: c.known}
}
