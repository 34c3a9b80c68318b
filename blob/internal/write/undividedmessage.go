package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/comm/remote"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// image is a record of an undivided variable that is assembled from parts.
type image struct {
	size int64 // size of an element
	raw  []byte
	has  []bool // by element: whether it was put
}

func (e *Engine) newImage(v int32) (*image, error) {
	sv := &e.Layout.Schema.Vars[v]
	n, size := e.Layout.Schema.Elems(dataset.VarID(v)), int64(sv.Type.Size())
	if n*size > e.opt.Memory {
		return nil, fmt.Errorf("flush of %q: a record put in parts has %d bytes, but Options.Memory is %d: %w", sv.Name, n*size, e.opt.Memory, dataset.ErrTooLarge)
	}
	return &image{size, make([]byte, n*size), make([]bool, n)}, nil
}

// lay writes n elements into the image, from element off on. It returns the first element that already had a different value,
// or -1.
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

// runs returns the elements that were put, and their bytes.
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

// undividedItem combines a rank's puts of one record of an undivided variable.
type undividedItem struct {
	V    int32      `json:"v"`
	Rec  int64      `json:"rec"`
	Rank int        `json:"rank"`
	Runs [][2]int64 `json:"runs"` // first element and number of elements of each run, ascending
	Sum  uint64     `json:"sum"`  // hash of Raw
	Size int64      `json:"size"`
	Raw  []byte     `json:"raw,omitempty"` // the elements of all runs, one after the other
	Sent bool       `json:"sent"`          // Raw is in this message
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
		it.Sum, it.Size = dataset.HashOf(it.Raw), int64(len(it.Raw))
		items, list = append(items, it), list[n:]
	}
	return items, nil
}

// differing returns the items by variable, record and rank, and drops items that equal an item of a lower rank. If two ranks
// have put different values for an element of a record, only their two items of this record remain.
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

// merge merges several items of one variable and record.
func (e *Engine) merge(items []undividedItem) (undividedItem, error) {
	it := items[0]
	if it.Raw == nil {
		it.Raw = []byte{}
	}
	if len(items) == 1 {
		return it, nil
	}
	if b := &items[1]; slices.Equal(it.Runs, b.Runs) { // equal items are sent once, so these two differ
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

// twoValues returns the error for two ranks that have put different values for an element.
func (e *Engine) twoValues(a, b *undividedItem, at int64) error {
	sv, rec := &e.Layout.Schema.Vars[a.V], ""
	if sv.Record {
		rec = fmt.Sprintf(", record %d", a.Rec)
	}
	return fault.Usage("%s: put of %q%s: ranks %d and %d put different values of element %d, want equal values, because the variable has no decomposition", subfile.Base(e.File.Final), sv.Name, rec, a.Rank, b.Rank, at)
}

// undividedInline is the maximum number of bytes of values that a rank sends with its list of items.
const undividedInline = 1 << 10

// exchangeUndivided sends the puts of undivided variables of each rank to all ranks. On the first ranks of subfiles the result
// replaces their own puts. All ranks return the same error, for example if two ranks have put different values for an element.
// Collective.
func (ps *puts) exchangeUndivided(ctx context.Context, mine []part, b *Flushing) error {
	e := ps.job.Eng
	own, err := e.undividedItems(mine)
	items, err := ps.shareUndivided(ctx, own, err)
	if err != nil {
		return err
	}
	var merged []undividedItem
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n].V == items[0].V && items[n].Rec == items[0].Rec {
			n++
		}
		it, err := e.merge(items[:n])
		if err != nil {
			return err
		}
		merged, items = append(merged, it), items[n:]
	}
	if ps.job.sub.Rank() == 0 {
		ps.list = slices.DeleteFunc(ps.list, func(p Pend) bool { return e.Layout.Schema.Vars[p.V].Decomp == 0 })
		ps.parts = nil
	}
	b.keys = slices.DeleteFunc(b.keys, func(k varRec) bool { return e.Layout.Schema.Vars[k.v].Decomp == 0 })
	for _, it := range merged {
		sv := &e.Layout.Schema.Vars[it.V]
		p := Pend{V: it.V, Rec: it.Rec, Mem: sv.Type}
		if ps.job.apart() {
			b.keys = append(b.keys, varRec{it.V, it.Rec})
		}
		ps.sawRecord(sv, it.Rec)
		if ps.job.sub.Rank() != 0 {
			continue
		}
		if it.Size == e.Layout.Schema.Elems(dataset.VarID(it.V))*int64(sv.Type.Size()) {
			p.Raw = it.Raw
			ps.list = append(ps.list, p)
			continue
		}
		pos, size := int64(0), int64(sv.Type.Size())
		for _, r := range it.Runs {
			p.Raw = it.Raw[pos*size : (pos+r[1])*size]
			ps.parts = append(ps.parts, part{Pend: p, flat: true, start: []int64{r[0]}, count: []int64{r[1]}})
			pos += r[1]
		}
	}
	slices.SortFunc(b.keys, e.Layout.order)
	if b.alike != notAlike {
		b.alike = allAlike // all ranks now know the keys of the first ranks
	}
	return nil
}

// shareUndivided sends the items of each rank to all ranks, but equal items only once. err is an error of this rank.
// Collective.
func (ps *puts) shareUndivided(ctx context.Context, own []undividedItem, err error) ([]undividedItem, error) {
	report := undividedReport{Rank: ps.job.C.Rank()}
	bytes := int64(0)
	for i := range own {
		own[i].Rank = ps.job.C.Rank()
		bytes += own[i].Size
	}
	if err != nil {
		report.Err = remote.Encode(err)
	} else {
		report.Items = slices.Clone(own)
		for i := range report.Items {
			if it := &report.Items[i]; bytes <= undividedInline {
				it.Sent = true
			} else {
				it.Raw = nil
			}
		}
	}
	var msg []byte
	if report.Err != nil || len(report.Items) > 0 {
		if msg, err = json.Marshal(&report); err != nil {
			return nil, err
		}
	}
	all, err := ps.job.C.Gather(ctx, 0, msg)
	if err != nil {
		return nil, err
	}
	if ps.job.C.Rank() == 0 {
		if msg, err = json.Marshal(gatherUndivided(all)); err != nil {
			return nil, err
		}
	} else {
		msg = nil
	}
	if msg, err = ps.job.C.Bcast(ctx, 0, msg); err != nil {
		return nil, err
	}
	report = undividedReport{}
	if err = json.Unmarshal(msg, &report); err != nil {
		return nil, fmt.Errorf("cannot decode the data put by other ranks: %w", err)
	}
	if report.Err != nil {
		return nil, comm.MetBy(ps.job.C, report.Rank, remote.Decode(report.Err))
	}
	return report.Items, ps.sendUndivided(ctx, own, report.Items)
}

// sendUndivided sends to all ranks the values that were too large for the lists of items.
func (ps *puts) sendUndivided(ctx context.Context, own, items []undividedItem) error {
	var ranks []int
	for i := range items {
		if it := &items[i]; !it.Sent && it.Size > 0 {
			ranks = append(ranks, it.Rank)
		}
	}
	slices.Sort(ranks)
	for _, root := range slices.Compact(ranks) {
		var buf []byte
		if root == ps.job.C.Rank() {
			for _, it := range items {
				if it.Rank != root {
					continue
				}
				k := slices.IndexFunc(own, func(o undividedItem) bool { return o.V == it.V && o.Rec == it.Rec })
				buf = append(buf, own[k].Raw...)
			}
		}
		buf, err := ps.job.C.Bcast(ctx, root, buf)
		if err != nil {
			return err
		}
		for i := range items {
			if it := &items[i]; it.Rank == root {
				it.Raw, buf = buf[:it.Size:it.Size], buf[it.Size:]
			}
		}
	}
	return nil
}
