package blob

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"blobio/cdf5"
	"blobio/comm"
)

// Variables without a decomposition are lone: each subfile has them whole, and its first rank writes them. Any rank may put them. What the
// other ranks put stays with them until the next flush, which begins with an agreement: it compares hashes of what those ranks have put that
// have put something. If the first ranks of all subfiles have, and all is the same, nothing is sent. Otherwise all ranks learn what
// was put, and the first ranks take it for their own.

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
			return pkg.Errorf("put of %q record %d: %w", sv.Name, rec, err)
		}
	}
	if w.opt.Retain == CopyOnPut {
		c, err := w.eng.proc.copyOf(p.raw)
		if err != nil {
			return pkg.Errorf("put of %q record %d: %w", sv.Name, rec, err)
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
	kept := w.seen[:0]
	for i := range w.seen {
		if p := &w.seen[i]; !gone(&p.pend) {
			kept = append(kept, *p)
		} else if p.same != nil {
			w.eng.proc.dropCopy(p.same)
		}
	}
	clear(w.seen[len(kept):])
	w.seen = kept
}

func always(*pend) bool { return true }

// common is a copy that ranks of one process share which have put the same bytes.
type common struct {
	raw []byte
	sum uint64
	n   int // ranks
}

// copyOf returns a copy of bytes, which counts once, however many ranks have put the same.
func (p *process) copyOf(raw []byte) (*common, error) {
	sum := sumOf(raw)
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.copies[sum]; c != nil && bytes.Equal(c.raw, raw) {
		c.n++
		return c, nil
	}
	if err := p.awaitLocked(int64(len(raw))); err != nil {
		return nil, err
	}
	c := &common{append(make([]byte, 0, len(raw)), raw...), sum, 1}
	if p.copies == nil {
		p.copies = map[uint64]*common{}
	}
	if p.copies[sum] == nil {
		p.copies[sum] = c
	}
	return c, nil
}

func (p *process) dropCopy(c *common) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.n--; c.n > 0 {
		return
	}
	p.used -= int64(len(c.raw))
	if p.copies[c.sum] == c {
		delete(p.copies, c.sum)
	}
}

// hashOdd keeps mix from mapping 0 to 0.
const hashOdd = 0x9e3779b97f4a7c15

func hashAdd(h, x uint64) uint64 { return mix(h+x) + hashOdd }

// sumOf is a hash of bytes.
func sumOf(b []byte) uint64 {
	h := hashAdd(hashOdd, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		h = hashAdd(h, binary.LittleEndian.Uint64(b))
	}
	var rest [8]byte
	copy(rest[:], b)
	return hashAdd(h, binary.LittleEndian.Uint64(rest[:]))
}

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

// noSay is a word that leaves the minimum to others.
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

// loneItem is what a rank has put of one record of a lone variable, in all.
type loneItem struct {
	V    int32      `json:"v"`
	Rec  int64      `json:"rec"`
	Rank int        `json:"rank"`
	Runs [][2]int64 `json:"runs"` // first element and how many, ascending
	Sum  uint64     `json:"sum"`  // of raw
	Size int64      `json:"size"`
	Raw  []byte     `json:"raw,omitempty"` // the elements of the runs, one after the other
	Sent bool       `json:"sent"`          // Raw is there
}

// loneTold is what one rank tells of all of its own, and what world rank 0 tells of those of all.
type loneTold struct {
	Err   []byte     `json:"err,omitempty"` // as comm.EncodeError makes it
	Rank  int        `json:"rank"`          // which met it
	Items []loneItem `json:"items"`
}

// loneInline is how many bytes of values a rank sends with the list of what it has.
const loneInline = 1 << 10

// image is a record of a lone variable that is put together.
type image struct {
	size int64 // of an element
	raw  []byte
	has  []bool // by element
}

func (e *engine) newImage(v int32) (*image, error) {
	sv := &e.schema.vars[v]
	n, size := e.schema.Elems(VarID(v)), int64(sv.Type.Size())
	if n*size > e.opt.Memory {
		return nil, pkg.Errorf("flush of %q: a record that ranks put in parts has %d bytes, Options.Memory is %d: %w", sv.Name, n*size, e.opt.Memory, ErrTooLarge)
	}
	return &image{size, make([]byte, n*size), make([]bool, n)}, nil
}

// lay lays n elements from off on over the image, and returns the first that was there with another value, -1: none.
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

// runs are the elements that it has, and their bytes.
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

// loneItems makes one item of the puts of each record of a variable.
func (e *engine) loneItems(list []part) (items []loneItem, err error) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].v == list[0].v && list[n].rec == list[0].rec {
			n++
		}
		p := list[0]
		it := loneItem{V: p.v, Rec: p.rec}
		if n == 1 && p.start == nil {
			it.Runs, it.Raw = [][2]int64{{0, e.schema.Elems(VarID(p.v))}}, p.raw
		} else {
			m, err := e.newImage(p.v)
			if err != nil {
				return nil, err
			}
			for _, p := range list[:n] {
				if p.start == nil {
					m.lay(0, int64(len(m.has)), p.raw)
					continue
				}
				pos := int64(0)
				for off, k := range slabRuns(e.schema.Shape(VarID(p.v)), p.start, p.count) {
					m.lay(off, k, p.raw[pos*m.size:])
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

// differing leaves of items one of each that are alike, of the lowest rank, by variable, record and rank; of a record of which ranks have put other
// values of the same elements two.
func differing(items []loneItem) (out []loneItem) {
	key := func(a, b loneItem) int { return cmp.Or(cmp.Compare(a.V, b.V), cmp.Compare(a.Rec, b.Rec)) }
	slices.SortStableFunc(items, key)
	from, clash := 0, false
	for i := range items {
		it := &items[i]
		if len(out) == 0 || key(out[len(out)-1], *it) != 0 {
			from, clash = len(out), false
		}
		same := func(q loneItem) bool { return slices.Equal(q.Runs, it.Runs) }
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

// exchangeLones brings what ranks have put of lone variables to all ranks; on the first ranks of subfiles it takes the place of
// their own puts. An error, such as two values for one element, is one on all ranks. Collective.
func (w *Writer) exchangeLones(ctx context.Context, mine []part, b *flushing) error {
	e := w.eng
	own, err := e.loneItems(mine)
	items, err := w.tellLones(ctx, own, err)
	if err != nil {
		return err
	}
	var merged []loneItem
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
	if w.sub.Rank() == 0 {
		w.pending = deletePends(w.pending, func(p *pend) bool { return e.schema.vars[p.v].Decomp == 0 })
		w.parts = nil
	}
	b.keys = slices.DeleteFunc(b.keys, func(k varRec) bool { return e.schema.vars[k.v].Decomp == 0 })
	for _, it := range merged {
		sv := &e.schema.vars[it.V]
		p := pend{v: it.V, rec: it.Rec, mem: sv.Type}
		if w.apart() {
			b.keys = append(b.keys, varRec{it.V, it.Rec})
		}
		w.sawRecord(sv, it.Rec)
		if w.sub.Rank() != 0 {
			continue
		}
		if it.Size == e.schema.Elems(VarID(it.V))*int64(sv.Type.Size()) {
			p.raw = it.Raw
			w.pending = append(w.pending, p)
			continue
		}
		pos, size := int64(0), int64(sv.Type.Size())
		for _, r := range it.Runs {
			p.raw = it.Raw[pos*size : (pos+r[1])*size]
			w.parts = append(w.parts, part{pend: p, flat: true, start: []int64{r[0]}, count: []int64{r[1]}})
			pos += r[1]
		}
	}
	slices.SortFunc(b.keys, e.order)
	if b.alike != notAlike {
		b.alike = allAlike // all know what the first ranks have
	}
	return nil
}

// merge makes one item of those of a record of a variable.
func (e *engine) merge(items []loneItem) (loneItem, error) {
	it := items[0]
	if it.Raw == nil {
		it.Raw = []byte{}
	}
	if len(items) == 1 {
		return it, nil
	}
	if b := &items[1]; slices.Equal(it.Runs, b.Runs) { // what is alike is not told
		k, size := int64(0), int64(e.schema.vars[it.V].Type.Size())
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
			other := slices.IndexFunc(items[:k], func(q loneItem) bool { return slices.ContainsFunc(q.Runs, has) })
			return it, e.twoValues(&items[other], &items[k], at)
		}
	}
	it.Runs, it.Raw = m.runs()
	it.Size = int64(len(it.Raw))
	return it, nil
}

// twoValues is the error of two ranks that have put different values of an element.
func (e *engine) twoValues(a, b *loneItem, at int64) error {
	sv, rec := &e.schema.vars[a.V], ""
	if sv.Record {
		rec = fmt.Sprintf(" record %d", a.Rec)
	}
	return pkg.Usage("put of %q%s: ranks %d and %d put different values of element %d, want one value of a variable that is not decomposed", sv.Name, rec, a.Rank, b.Rank, at)
}

// tellLones tells all ranks what each has, without what others have alike. err is of this rank. Collective.
func (w *Writer) tellLones(ctx context.Context, own []loneItem, err error) ([]loneItem, error) {
	told := loneTold{Rank: w.c.Rank()}
	bytes := int64(0)
	for i := range own {
		own[i].Rank = w.c.Rank()
		bytes += own[i].Size
	}
	if err != nil {
		told.Err = comm.EncodeError(err)
	} else {
		told.Items = slices.Clone(own)
		for i := range told.Items {
			if it := &told.Items[i]; bytes <= loneInline {
				it.Sent = true
			} else {
				it.Raw = nil
			}
		}
	}
	var msg []byte
	if told.Err != nil || len(told.Items) > 0 {
		if msg, err = json.Marshal(&told); err != nil {
			return nil, err
		}
	}
	all, err := w.c.Gather(ctx, 0, msg)
	if err != nil {
		return nil, err
	}
	if w.c.Rank() == 0 {
		if msg, err = json.Marshal(gatherLones(all)); err != nil {
			return nil, err
		}
	} else {
		msg = nil
	}
	if msg, err = w.c.Bcast(ctx, 0, msg); err != nil {
		return nil, err
	}
	told = loneTold{}
	if err = json.Unmarshal(msg, &told); err != nil {
		return nil, pkg.Errorf("what ranks have put: %w", err)
	}
	if told.Err != nil {
		return nil, comm.MetBy(w.c, told.Rank, comm.DecodeError(told.Err))
	}
	return told.Items, w.sendLones(ctx, own, told.Items)
}

// gatherLones is what world rank 0 makes of what all ranks have told.
func gatherLones(all [][]byte) *loneTold {
	var items []loneItem
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var t loneTold
		if err := json.Unmarshal(b, &t); err != nil {
			return &loneTold{Rank: r, Err: comm.EncodeError(pkg.Errorf("what rank %d has put: %w", r, err))}
		}
		if t.Err != nil {
			return &t
		}
		items = append(items, t.Items...)
	}
	return &loneTold{Items: differing(items)}
}

// sendLones fills in the values that were not sent with the list: each rank that has some sends them to all.
func (w *Writer) sendLones(ctx context.Context, own, items []loneItem) error {
	var ranks []int
	for i := range items {
		if it := &items[i]; !it.Sent && it.Size > 0 {
			ranks = append(ranks, it.Rank)
		}
	}
	slices.Sort(ranks)
	for _, root := range slices.Compact(ranks) {
		var buf []byte
		if root == w.c.Rank() {
			for _, it := range items {
				if it.Rank != root {
					continue
				}
				k := slices.IndexFunc(own, func(o loneItem) bool { return o.V == it.V && o.Rec == it.Rec })
				buf = append(buf, own[k].Raw...)
			}
		}
		buf, err := w.c.Bcast(ctx, root, buf)
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
