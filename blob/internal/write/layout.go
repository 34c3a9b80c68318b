package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/h5"
	"cmp"
	"slices"
)

func (l *Layout) emptyMapVar(v int) bool {
	v -= l.Place.Header.Maps * layout.MapVars
	if v < 0 {
		return false
	}
	d := l.Schema.Vars[v].Decomp
	return d != 0 && l.Place.Shape.Elems[d-1] == 0
}

// Layout holds the offsets of all data of the subfile, and records which data the file already has.
type Layout struct {
	Schema   *dataset.Schema
	Place    *dataset.Place
	Exts     *layout.ExtentOrder
	All      *layout.Ranks // blobs of all ranks of the subfile
	Table    *layout.Ranks // blobs of the local ranks
	Maps     []*decomp.Map // requests of the local ranks, by map, then by local index
	meta     *h5.Layout    // process-centric: the HDF5 metadata around the data
	Base     int64         // first record of the file
	First    int64         // first record that this session or the current set may write
	Appended bool          // the file already has fixed variables and maps
	MapsOut  bool          // the map variables are in the file
}

// begin computes the layout of an empty file of this shape.
func (l *Layout) begin(o *dataset.Settings, sh *layout.Shape) error {
	hdr := l.Schema.BlobHeader(sh)
	if err := hdr.Layout(nil); err != nil {
		return err
	}
	l.Place = dataset.NewPlace(o.Layout, o.Compress.On(), 0)
	l.Place.SetHeader(hdr, hdr.EncodedLen(), l.Schema, sh)
	l.Exts = l.Place.Header.ExtentOrder()
	return nil
}

// extent returns the number of the extent to which a put belongs, see format-manifest.md.
func (l *Layout) extent(p *Pend) int64 {
	return l.Exts.Index(l.Place.Header.HeaderVar(p.V), p.Rec-l.First)
}

// RecordVar returns the number of record variables before v.
func (l *Layout) RecordVar(v int) int { return l.Exts.Pos[l.Place.Header.FileVar(v)] }

// spot returns the file offset of a put of local rank i, the put's length in bytes, and its offset in the extent.
func (l *Layout) spot(i int, p *Pend) (off, n, at int64) {
	return l.spotOf(l.Table, i, p.V, p.Rec)
}

// spotOf is spot for entry i of table t.
func (l *Layout) spotOf(t *layout.Ranks, i int, v int32, rec int64) (off, n, at int64) {
	return l.Place.Spot(t, i, v, l.recIn(v, rec))
}

func (l *Layout) recIn(v int32, rec int64) int64 {
	if v >= 0 && l.Schema.Vars[v].Record {
		return rec - l.Base
	}
	return 0
}

// fileSize returns the length of a file that holds the records below records.
func (l *Layout) fileSize(records int64) int64 { return l.Place.FileSize(records - l.Base) }

// Settle computes the offset of each blob. It needs no communication, because Setup has exchanged the sizes.
func (l *Layout) Settle(records int64) (err error) {
	l.meta, err = l.Place.Settle(l.All, records)
	for i, id := range l.Table.ID {
		l.Table.Blob[i] = l.All.Blob[id]
	}
	return err
}

// mapPends returns the puts of the map variables, or nil once they are written.
func (l *Layout) mapPends() (maps []Pend) {
	if !l.MapsOut {
		for k := range l.Place.Header.Maps * layout.MapVars {
			maps = append(maps, Pend{V: int32(-1 - k)})
		}
	}
	return maps
}

// extentEnd returns the file offset behind the last rank's part of a variable's record.
func (l *Layout) extentEnd(k varRec) int64 {
	v := l.Place.Header.HeaderVar(k.v)
	if off, ok := l.Place.Whole(v, l.recIn(k.v, k.rec)); ok {
		return off + l.Place.ExtentBytes(v, nil)
	}
	return l.Place.FileSize(0)
}

// follows reports whether b directly follows a in every process-centric blob.
func (l *Layout) follows(a, b varRec) bool {
	if a.v < 0 && b.v < 0 {
		return b.v == a.v-1
	}
	last, first := int64(0), int64(0) // last record of a's variable, first record of b's
	if a.v >= 0 && l.Schema.Vars[a.v].Record {
		last = l.Base + l.Place.Blob.Records - 1
	}
	if l.Schema.Vars[b.v].Record {
		first = l.Base
	}
	switch {
	case a.v < 0:
		return int(-a.v) == l.Place.Header.Maps*layout.MapVars && b.v == 0 && b.rec == first
	case a.v == b.v:
		return b.rec == a.rec+1
	}
	return b.v == a.v+1 && a.rec == last && b.rec == first
}

// order compares two keys by their place in the file, or with ByRank by their place in a blob. Map variables come first, then
// fixed variables, then records; with ByRank all records of a variable are together.
func (l *Layout) order(a, b varRec) int {
	if a.v < 0 || b.v < 0 {
		return cmp.Compare(b.v, a.v)
	}
	if l.Place.ByRank {
		return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.rec, b.rec))
	}
	if ra, rb := l.Schema.Vars[a.v].Record, l.Schema.Vars[b.v].Record; ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.rec, b.rec), cmp.Compare(a.v, b.v))
}

// keysOf lists the variables and records of the puts, each once, in the order of the file.
func (l *Layout) keysOf(pending []Pend, parts []part, seen []undividedPut) []varRec {
	keys := make([]varRec, 0, len(pending)+len(parts)+len(seen))
	for k := range pending {
		keys = append(keys, varRec{pending[k].V, pending[k].Rec})
	}
	for k := range parts {
		keys = append(keys, varRec{parts[k].V, parts[k].Rec})
	}
	for k := range seen {
		keys = append(keys, varRec{seen[k].V, seen[k].Rec})
	}
	if !slices.IsSortedFunc(keys, l.order) {
		slices.SortFunc(keys, l.order)
	}
	return slices.Compact(keys)
}

// allKeys lists all variables and records that this session writes.
func (l *Layout) allKeys(records int64) (keys []varRec) {
	for v := range l.Schema.Vars {
		switch {
		case l.Schema.Vars[v].Record:
			for rec := l.First; rec < records; rec++ {
				keys = append(keys, varRec{int32(v), rec})
			}
		case !l.Appended:
			keys = append(keys, varRec{int32(v), 0})
		}
	}
	slices.SortFunc(keys, l.order)
	return keys
}

// wholeKeyWords returns the undividedWords of these keys for the case that values need no comparison.
func (l *Layout) wholeKeyWords(keys []varRec) [2]int64 {
	var list []part
	for _, k := range keys {
		if l.Schema.Vars[k.v].Decomp == 0 {
			list = append(list, part{Pend: Pend{V: k.v, Rec: k.rec}})
		}
	}
	if len(list) == 0 && l.Table.ID[0] != 0 {
		return [2]int64{noSay, noSay}
	}
	sum := int64(undividedSum(list))
	return [2]int64{sum, ^sum}
}

// fill computes bytes [from, to) of a piece as they are in the file. from and to may lie inside an element.
func (l *Layout) fill(b []byte, i int, p *Pend, from, to int64) error {
	size := int64(1)
	switch {
	case p.V >= 0:
		size = int64(l.Schema.Vars[p.V].Type.Size())
	default:
		size = l.mapElem(p.V)
	}
	var one [8]byte
	if k := from % size; k != 0 && from < to {
		if err := l.fillElems(one[:size], i, p, from-k, from-k+size); err != nil {
			return err
		}
		n := int64(copy(b[:min(to-from, size-k)], one[k:size]))
		b, from = b[n:], from+n
	}
	if k := to % size; k != 0 && from < to {
		if err := l.fillElems(one[:size], i, p, to-k, to-k+size); err != nil {
			return err
		}
		copy(b[to-from-k:], one[:k])
		to -= k
	}
	if from == to {
		return nil
	}
	return l.fillElems(b[:to-from], i, p, from, to)
}

// mapElem returns the size of an element of a map variable.
func (l *Layout) mapElem(v int32) int64 {
	switch d, m := int(-1-v)/layout.MapVars, int(-1-v)%layout.MapVars; m {
	case layout.MapStart, layout.MapCount:
		return 8
	case layout.MapOffsets:
		return l.Place.Shape.OffsetSize(d)
	}
	return 4
}

// fillElems is fill for whole elements.
func (l *Layout) fillElems(b []byte, i int, p *Pend, from, to int64) error {
	if p.V < 0 {
		l.mapBytes(b, i, int(-1-p.V)/layout.MapVars, int(-1-p.V)%layout.MapVars, from)
		return nil
	}
	v := &l.Schema.Vars[p.V]
	if p.Raw == nil {
		cdf5.FillBytes(b, v.Type, dataset.OrderOf(l.Place.Big), v.FillAtt())
		return nil
	}
	size, msize := int64(v.Type.Size()), int64(p.Mem.Size())
	return dataset.ToFile(b, l.Place.Big, v.Type, p.Mem, p.Raw[from/size*msize:to/size*msize])
}

// mapBytes computes the part of local rank i in variable m of map d, from byte offset from on. b begins and ends at elements. The
// padding after the last request of a row is zeros.
func (l *Layout) mapBytes(b []byte, i, d, m int, from int64) {
	order := dataset.OrderOf(l.Place.Big)
	k := i*l.Place.Header.Maps + d
	switch m {
	case layout.MapNreqs:
		order.PutUint32(b, uint32(l.Table.Nreqs[k]))
		return
	case layout.MapStart:
		order.PutUint64(b, uint64(l.Table.Start[k]))
		return
	case layout.MapCount:
		order.PutUint64(b, uint64(l.Table.Count[k]))
		return
	}
	size := int64(4)
	if m == layout.MapOffsets {
		size = l.Place.Shape.OffsetSize(d)
	}
	skip := from / size
	pos := 0
	for q := range l.Maps[d].Reqs(i) {
		if skip > 0 {
			skip--
			continue
		}
		if pos == len(b) {
			return
		}
		v := q.Length
		if m == layout.MapOffsets {
			v = q.Offset
		}
		dataset.PutInt(b[pos:], order, size, v)
		pos += int(size)
	}
	clear(b[pos:])
}
