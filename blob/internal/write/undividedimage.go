package write

import (
	"blobio/blob/internal/dataset"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// undividedItem is what a rank has put of one record of a undivided variable, in all.
type undividedItem struct {
	V    int32      `json:"v"`
	Rec  int64      `json:"rec"`
	Rank int        `json:"rank"`
	Runs [][2]int64 `json:"runs"` // first element and how many, ascending
	Sum  uint64     `json:"sum"`  // of raw
	Size int64      `json:"size"`
	Raw  []byte     `json:"raw,omitempty"` // the elements of the runs, one after the other
	Sent bool       `json:"sent"`          // Raw is there
}

// image is a record of a undivided variable that is put together from parts.
type image struct {
	size int64 // of an element
	raw  []byte
	has  []bool // by element
}

func (e *Engine) newImage(v int32) (*image, error) {
	sv := &e.Layout.Schema.Vars[v]
	n, size := e.Layout.Schema.Elems(dataset.VarID(v)), int64(sv.Type.Size())
	if n*size > e.opt.Memory {
		return nil, fmt.Errorf("flush of %q: a record that ranks put in parts has %d bytes, Options.Memory is %d: %w", sv.Name, n*size, e.opt.Memory, dataset.ErrTooLarge)
	}
	return &image{size, make([]byte, n*size), make([]bool, n)}, nil
}

// lay writes n elements from off on into the image. It returns the first one that had another value, -1: none.
func (m *image) lay(off, n int64, raw []byte) (differs int64) {
	differs = -1
	for k := range n {
		at := (off + k) * m.size
		b := raw[k*m.size : (k+1)*m.size]
		if differs < 0 && m.has[off+k] && !bytes.Equal(m.raw[at:at+m.size], b) {
			differs = off + k
		}
		m.has[off+k] = true
		copy(m.raw[at:], b)
	}
	return differs
}

// runs returns the elements that the image has, and their bytes.
func (m *image) runs() (runs [][2]int64, raw []byte) {
	for at := 0; at < len(m.has); {
		from := at
		for at < len(m.has) && m.has[at] {
			at++
		}
		if at > from {
			runs = append(runs, [2]int64{int64(from), int64(at - from)})
			raw = append(raw, m.raw[int64(from)*m.size:int64(at)*m.size]...)
		} else {
			at++
		}
	}
	return runs, raw
}

// undividedItems makes one item from the puts of each record of a variable.
func (e *Engine) undividedItems(list []part) (items []undividedItem, err error) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].V == list[0].V && list[n].Rec == list[0].Rec {
			n++
		}
		p := list[0]
		it := undividedItem{V: p.V, Rec: p.Rec}
		if n == 1 && p.start == nil {
			it.Runs, it.Raw = [][2]int64{{0, e.Layout.Schema.Elems(dataset.VarID(p.V))}}, p.Raw
		} else {
			m, err := e.newImage(p.V)
			if err != nil {
				return nil, err
			}
			for _, p := range list[:n] {
				if p.start == nil {
					m.lay(0, int64(len(m.has)), p.Raw)
					continue
				}
				pos := int64(0)
				for off, k := range dataset.SlabRuns(e.Layout.Schema.Shape(dataset.VarID(p.V)), p.start, p.count) {
					m.lay(off, k, p.Raw[pos*m.size:])
					pos += k
				}
			}
			it.Runs, it.Raw = m.runs()
		}
		it.Sum, it.Size = sumOf(it.Raw), int64(len(it.Raw))
		items, list = append(items, it), list[n:]
	}
	return items, nil
}

// differing returns the items by variable, record and rank, without those that equal one of a lower rank. Where two ranks have put different
// values of the same elements of a record, only these two items of the record are left.
func differing(items []undividedItem) (out []undividedItem) {
	key := func(a, b undividedItem) int { return cmp.Or(cmp.Compare(a.V, b.V), cmp.Compare(a.Rec, b.Rec)) }
	slices.SortStableFunc(items, key)
	from, clash := 0, false
	for i := range items {
		it := &items[i]
		if len(out) == 0 || key(out[len(out)-1], *it) != 0 {
			from, clash = len(out), false
		}
		same := func(q undividedItem) bool { return slices.Equal(q.Runs, it.Runs) }
		switch k := slices.IndexFunc(out[from:], same); {
		case clash:
		case k < 0:
			out = append(out, *it)
		case out[from+k].Sum != it.Sum:
			out, clash = append(append(out[:from], out[from+k]), *it), true
		}
	}
	return out
}

// merge makes one item of several ones of the same variable and record.
func (e *Engine) merge(items []undividedItem) (undividedItem, error) {
	it := items[0]
	if it.Raw == nil {
		it.Raw = []byte{}
	}
	if len(items) == 1 {
		return it, nil
	}
	if b := &items[1]; slices.Equal(it.Runs, b.Runs) { // of items that are alike only one was sent
		k, size := int64(0), int64(e.Layout.Schema.Vars[it.V].Type.Size())
		for bytes.Equal(it.Raw[k*size:(k+1)*size], b.Raw[k*size:(k+1)*size]) {
			k++
		}
		for _, r := range it.Runs {
			if k < r[1] {
				return it, e.twoValues(&it, b, r[0]+k)
			}
			k -= r[1]
		}
	}
	m, err := e.newImage(it.V)
	if err != nil {
		return it, err
	}
	for k := range items {
		pos := int64(0)
		for _, r := range items[k].Runs {
			at := m.lay(r[0], r[1], items[k].Raw[pos*m.size:])
			if at < 0 {
				pos += r[1]
				continue
			}
			has := func(r [2]int64) bool { return at >= r[0] && at < r[0]+r[1] }
			other := slices.IndexFunc(items[:k], func(q undividedItem) bool { return slices.ContainsFunc(q.Runs, has) })
			return it, e.twoValues(&items[other], &items[k], at)
		}
	}
	it.Runs, it.Raw = m.runs()
	it.Size = int64(len(it.Raw))
	return it, nil
}

// twoValues is the error of two ranks that have put different values of an element.
func (e *Engine) twoValues(a, b *undividedItem, at int64) error {
	sv, rec := &e.Layout.Schema.Vars[a.V], ""
	if sv.Record {
		rec = fmt.Sprintf(" record %d", a.Rec)
	}
	return fault.Usage("%s: put of %q%s: ranks %d and %d put different values of element %d, want one value of a variable that is not decomposed", subfile.Base(e.File.Final), sv.Name, rec, a.Rank, b.Rank, at)
}
