package write

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/process"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/remote"
)

// Variables without a decomposition are undivided: each subfile has them whole, and its first rank writes them. Any rank may put
// them. A put of another rank stays on that rank until the next flush. The flush begins with an agreement that compares hashes of
// the puts. Ranks without such puts do not take part in the comparison. If the first ranks of all subfiles have puts, and all
// puts are equal, nothing is sent. Otherwise all ranks receive the puts, and the first ranks write them as their own.

// undividedPut is a put of an undivided variable by a rank that does not write it, in the type of the file and in host order.
// start is nil if the put is the whole record.
type undividedPut struct {
	part
	same *process.Copy // the copy that holds Raw; nil if Raw is lent
}

// keepUndivided keeps a put until the flush. If put.start is nil, the put is the whole record.
func (ps *puts) keepUndivided(sv *dataset.Variable, put part) error {
	if !sv.Record {
		put.Rec = 0
	}
	rec, mem, raw := put.Rec, put.Mem, put.Raw
	put.Mem = sv.Type
	if ps.each { // values do not matter: each first rank writes its own
		ps.seen = append(ps.seen, undividedPut{part: part{Pend: Pend{Rec: rec, V: put.V, Mem: sv.Type}}})
		return nil
	}
	p := undividedPut{part: put}
	p.start, p.count = slices.Clone(put.start), slices.Clone(put.count)
	if !dataset.SameType(mem, sv.Type) {
		p.Raw = make([]byte, len(raw)/mem.Size()*sv.Type.Size())
		if err := dataset.ToFile(p.Raw, dataset.HostBig, sv.Type, mem, raw); err != nil {
			return fmt.Errorf("put of %q, record %d: %w", sv.Name, rec, err)
		}
	}
	if ps.job.Opt.Retain == dataset.CopyOnPut {
		c, err := ps.job.Eng.Proc.CopyOf(p.Raw)
		if err != nil {
			return fmt.Errorf("put of %q, record %d: %w", sv.Name, rec, err)
		}
		p.Raw, p.same = c.Raw, c
	} else if p.Raw == nil {
		p.Raw = []byte{}
	}
	if p.start == nil {
		ps.dropSeen(func(q *Pend) bool { return q.V == p.V && q.Rec == p.Rec })
	}
	ps.seen = append(ps.seen, p)
	return nil
}

// dropSeen drops the puts in seen for which gone returns true.
func (ps *puts) dropSeen(gone func(p *Pend) bool) {
	ps.seen = slices.DeleteFunc(ps.seen, func(p undividedPut) bool {
		drop := gone(&p.Pend)
		if drop && p.same != nil {
			ps.job.Eng.Proc.DropCopy(p.same)
		}
		return drop
	})
}

func always(*Pend) bool { return true }

// undivided lists this rank's puts of undivided variables since the last flush, by variable and record, then in the order of the
// puts. Values are in the file's type and in host order.
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

// undividedSum hashes puts of undivided variables, including their values.
func undividedSum(list []part) uint64 {
	h := uint64(dataset.HashOdd)
	for i := range list {
		p := &list[i]
		h = dataset.HashAdd(dataset.HashAdd(dataset.HashAdd(h, uint64(p.V)), uint64(p.Rec)), dataset.HashOf(p.Raw))
		for _, x := range [2][]int64{p.start, p.count} {
			for _, n := range x {
				h = dataset.HashAdd(h, uint64(n))
			}
		}
	}
	return h >> 1
}

// noUndivided is the undividedSum of an empty list.
var noUndivided = int64(undividedSum(nil))

// noSay is the word of a rank that must not change the minimum.
const noSay = math.MaxInt64

// undividedWords returns the words for AgreeMin that show whether ranks have put the same undivided values: undividedSum and its
// complement. A rank that has put none, and is not the first rank of a subfile, returns noSay. mine are the puts of this rank.
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

// assemble turns the lists into the final puts: for each rank, the last put of a variable's record, and whole records made of the
// parts of variables without a decomposition.
func (e *Engine) assemble(lists [][]Pend, parts []part) error {
	if len(parts) > 0 {
		i := slices.Index(e.Layout.Table.ID, 0)
		if err := e.assembleParts(&lists[i], parts); err != nil {
			return err
		}
	}
	for i := range lists {
		lists[i] = lastOfEach(lists[i])
	}
	return nil
}

func lastOfEach(l []Pend) []Pend {
	ascending := true
	for k := 1; k < len(l) && ascending; k++ {
		a, b := &l[k-1], &l[k]
		ascending = a.Rec < b.Rec || a.Rec == b.Rec && a.V < b.V
	}
	if ascending {
		return l
	}
	last := make(map[varRec]int, len(l))
	for k := range l {
		last[varRec{l[k].V, l[k].Rec}] = k
	}
	if len(last) == len(l) {
		return l
	}
	out := l[:0:0]
	for k := range l {
		if last[varRec{l[k].V, l[k].Rec}] == k {
			out = append(out, l[k])
		}
	}
	return out
}

// assembleParts completes records that were put in parts, and appends them to list. It lays the parts over an earlier put of this
// flush, over data of an earlier flush, or over fill values.
func (e *Engine) assembleParts(list *[]Pend, parts []part) error {
	images := map[varRec][]byte{}
	var order []varRec
	for k := range parts {
		p := &parts[k]
		key := varRec{p.V, p.Rec}
		img := images[key]
		if img == nil {
			var err error
			if img, err = e.image(*list, p); err != nil {
				return err
			}
			images[key] = img
			order = append(order, key)
		}
		sv := &e.Layout.Schema.Vars[p.V]
		size := int64(sv.Type.Size())
		src := make([]byte, dataset.Product(p.count)*size)
		if err := dataset.ToFile(src, dataset.HostBig, sv.Type, p.Mem, p.Raw); err != nil {
			return err
		}
		shape := e.Layout.Schema.Shape(dataset.VarID(p.V))
		if p.flat {
			shape = []int64{dataset.Product(shape)}
		}
		pos := int64(0)
		for off, n := range dataset.SlabRuns(shape, p.start, p.count) {
			copy(img[off*size:], src[pos*size:(pos+n)*size])
			pos += n
		}
	}
	for _, key := range order {
		*list = append(*list, Pend{V: key.v, Rec: key.rec, Raw: images[key], Mem: e.Layout.Schema.Vars[key.v].Type})
	}
	return nil
}

// image returns the record under a part: the last put of the record, the data in the file, or fill values. The elements are in
// host order and have the variable's type in the file.
func (e *Engine) image(list []Pend, p *part) ([]byte, error) {
	sv := &e.Layout.Schema.Vars[p.V]
	n := e.Layout.Schema.Elems(dataset.VarID(p.V)) * int64(sv.Type.Size())
	if n > e.opt.Memory { // the image lives until the flush ends, and does not count towards copies of puts
		return nil, fmt.Errorf("flush of %q: a record put in parts has %d bytes, but Options.Memory is %d: %w", sv.Name, n, e.opt.Memory, dataset.ErrTooLarge)
	}
	img := make([]byte, n)
	find := func(l []Pend) (bool, error) {
		for k := len(l) - 1; k >= 0; k-- {
			if l[k].V == p.V && l[k].Rec == p.Rec {
				return true, dataset.ToFile(img, dataset.HostBig, sv.Type, l[k].Mem, l[k].Raw)
			}
		}
		return false, nil
	}
	if ok, err := find(list); ok || err != nil {
		return img, err
	}
	i := slices.Index(e.Layout.Table.ID, 0)
	if e.Kept.lists != nil {
		if ok, err := find(e.Kept.lists[i]); ok || err != nil {
			return img, err
		}
	} else if e.Tally.Done.has(i, &p.Pend, sv.Record) {
		f, done, err := e.File.Open()
		if err != nil {
			return nil, err
		}
		defer done()
		off, _, _ := e.Layout.spot(i, &p.Pend)
		if _, err := e.readBack(f).ReadAt(img, off); err != nil {
			return nil, err
		}
		if e.Layout.Place.Big != dataset.HostBig {
			elem.Swap(img, img, sv.Type.Size())
		}
		return img, nil
	}
	cdf5.FillBytes(img, sv.Type, elem.HostOrder(), sv.FillAtt())
	return img, nil
}

// readBack returns the subfile in a form for reading data that were flushed to it.
func (e *Engine) readBack(f vfs.File) vfs.File {
	if e.Pack == nil {
		return f
	}
	pl := e.Layout.Place.Clone()
	pl.Packed.Stored = e.Pack.End
	return unpack.New(pl, e.Layout.Table, e.Pack.x, e.File.Name, e.Proc.Zstd).File(f)
}

// undividedReport is the message of one rank with its items, or of world rank 0 with the items of all ranks.
type undividedReport struct {
	Err   []byte          `json:"err,omitempty"` // error as encoded by remote.Encode
	Rank  int             `json:"rank"`          // the rank that failed with Err
	Items []undividedItem `json:"items"`
}

// gatherUndivided makes one report from the reports of all ranks. Only world rank 0 calls it.
func gatherUndivided(all [][]byte) *undividedReport {
	var items []undividedItem
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var t undividedReport
		if err := json.Unmarshal(b, &t); err != nil {
			return &undividedReport{Rank: r, Err: remote.Encode(fmt.Errorf("cannot decode the data put by rank %d: %w", r, err))}
		}
		if t.Err != nil {
			return &t
		}
		items = append(items, t.Items...)
	}
	return &undividedReport{Items: differing(items)}
}
