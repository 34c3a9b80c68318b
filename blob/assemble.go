package blob

import (
	"fmt"
	"slices"

	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
)

// assemble brings the lists into the form that is written: at most one put of
// a variable's record per rank, the last one; and the parts put of variables
// that are not decomposed made into whole records.
func (e *engine) assemble(lists [][]pend, parts []part) error {
	if len(parts) > 0 {
		i := slices.Index(e.table.ID, 0)
		if err := e.assembleParts(&lists[i], parts); err != nil {
			return err
		}
	}
	for i := range lists {
		lists[i] = lastOfEach(lists[i])
	}
	return nil
}

type varRec struct {
	v   int32
	rec int64
}

// lastOfEach drops all but the last put of a variable's record. Lists without
// repeats, the common case, are recognised without a map.
func lastOfEach(l []pend) []pend {
	ascending := true
	for k := 1; k < len(l) && ascending; k++ {
		a, b := &l[k-1], &l[k]
		ascending = a.rec < b.rec || a.rec == b.rec && a.v < b.v
	}
	if ascending {
		return l
	}
	last := make(map[varRec]int, len(l))
	for k := range l {
		last[varRec{l[k].v, l[k].rec}] = k
	}
	if len(last) == len(l) {
		return l
	}
	out := l[:0:0]
	for k := range l {
		if last[varRec{l[k].v, l[k].rec}] == k {
			out = append(out, l[k])
		}
	}
	return out
}

// assembleParts lays parts over the value put before in this flush, over what
// an earlier flush wrote, or over fill values, and appends the whole record.
func (e *engine) assembleParts(list *[]pend, parts []part) error {
	images := map[varRec][]byte{}
	var order []varRec
	for k := range parts {
		p := &parts[k]
		key := varRec{p.v, p.rec}
		img := images[key]
		if img == nil {
			var err error
			if img, err = e.image(*list, p); err != nil {
				return err
			}
			images[key] = img
			order = append(order, key)
		}
		sv := &e.schema.vars[p.v]
		size := int64(sv.Type.Size())
		src := make([]byte, product(p.count)*size)
		if err := toFile(src, hostBig, sv.Type, p.mem, p.raw); err != nil {
			return err
		}
		shape := e.schema.Shape(VarID(p.v))
		if p.flat {
			shape = []int64{product(shape)}
		}
		pos := int64(0)
		for off, n := range slabRuns(shape, p.start, p.count) {
			copy(img[off*size:], src[pos*size:(pos+n)*size])
			pos += n
		}
	}
	for _, key := range order {
		*list = append(*list, pend{v: key.v, rec: key.rec, raw: images[key], mem: e.schema.vars[key.v].Type})
	}
	return nil
}

// image returns the record of a variable as it stands before a part is laid
// over it, in host order and the type of the file.
func (e *engine) image(list []pend, p *part) ([]byte, error) {
	sv := &e.schema.vars[p.v]
	n := e.schema.Elems(VarID(p.v)) * int64(sv.Type.Size())
	if n > e.opt.Memory { // the image lives until the flush is over, and is not counted with what was put
		return nil, fmt.Errorf("flush of %q: a record that is put in parts has %d bytes, Options.Memory is %d: %w", sv.Name, n, e.opt.Memory, ErrTooLarge)
	}
	img := make([]byte, n)
	find := func(l []pend) (bool, error) {
		for k := len(l) - 1; k >= 0; k-- {
			if l[k].v == p.v && l[k].rec == p.rec {
				return true, toFile(img, hostBig, sv.Type, l[k].mem, l[k].raw)
			}
		}
		return false, nil
	}
	if ok, err := find(list); ok || err != nil {
		return img, err
	}
	i := slices.Index(e.table.ID, 0)
	if e.kept != nil {
		if ok, err := find(e.kept[i]); ok || err != nil {
			return img, err
		}
	} else if e.done.has(i, &p.pend, sv.Record) {
		f, done, err := e.file()
		if err != nil {
			return nil, err
		}
		defer done()
		off, _, _ := e.spot(i, &p.pend)
		if _, err := e.readBack(f).ReadAt(img, off); err != nil {
			return nil, err
		}
		if e.place.Big != hostBig {
			cdf5.Swap(img, img, sv.Type.Size())
		}
		return img, nil
	}
	cdf5.FillBytes(img, sv.Type, elem.HostOrder(), sv.fillAtt())
	return img, nil
}

// readBack is the subfile that is being written, as it is read: what was flushed.
func (e *engine) readBack(f vfs.File) vfs.File {
	if e.pack == nil {
		return f
	}
	pl := e.place.Clone()
	pl.Packed.Stored = e.pack.end
	return unpack.New(pl, e.table, e.pack.x, e.name, e.proc.zstd).File(f)
}
