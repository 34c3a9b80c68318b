package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"fmt"
	"slices"
)

// assemble brings the lists into the form that is written: at most one put of
// a variable's record per rank, the last one; and the parts put of variables
// that are not decomposed made into whole records.
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

// lastOfEach drops all but the last put of a variable's record. Lists without
// repeats, the common case, are recognised without a map.
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

// assembleParts lays parts over the value put before in this flush, over what
// an earlier flush wrote, or over fill values, and appends the whole record.
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

// image returns the record of a variable as it stands before a part is laid
// over it, in host order and the type of the file.
func (e *Engine) image(list []Pend, p *part) ([]byte, error) {
	sv := &e.Layout.Schema.Vars[p.V]
	n := e.Layout.Schema.Elems(dataset.VarID(p.V)) * int64(sv.Type.Size())
	if n > e.opt.Memory { // the image lives until the flush is over, and is not counted with what was put
		return nil, fmt.Errorf("flush of %q: a record that is put in parts has %d bytes, Options.Memory is %d: %w", sv.Name, n, e.opt.Memory, dataset.ErrTooLarge)
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

// readBack is the subfile that is being written, as it is read: what was flushed.
func (e *Engine) readBack(f vfs.File) vfs.File {
	if e.Pack == nil {
		return f
	}
	pl := e.Layout.Place.Clone()
	pl.Packed.Stored = e.Pack.End
	return unpack.New(pl, e.Layout.Table, e.Pack.x, e.File.Name, e.Proc.Zstd).File(f)
}
