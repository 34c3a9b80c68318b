package cello

import (
	"context"
	"errors"
	"hash/crc32"
	"io"

	"blobio/internal/amr/cellodir"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

func (v *verifier) heads(ctx context.Context) {
	finds := make([][]Finding, len(v.s.files))
	_ = each(ctx, len(v.s.files), func(i int) {
		f, e := v.s.files[i], &v.k.man.Files[i]
		part := &scannedFile{name: f.name}
		if got, err := v.sum(ctx, i, 0, e.Meta, nil); err != nil {
			part.find(Error, spot{}, err, aborts, "")
		} else if got != uint32(e.Head) {
			part.find(Error, spot{field: "metadata"}, ErrChecksum, runsWrong, "the first %d bytes sum to %08x, the manifest says %08x", e.Meta, got, uint32(e.Head))
			v.groups(ctx, i, part)
		}
		finds[i] = part.finds
	})
	for _, l := range finds {
		for _, d := range l {
			v.tell(d)
		}
	}
}

// groups finds the groups of a file that do not match their checksums.
func (v *verifier) groups(ctx context.Context, i int, part *scannedFile) {
	f, e := v.s.files[i], &v.k.man.Files[i]
	for n := range min(len(e.Groups), len(f.blocks)) {
		b := &f.blocks[n]
		if b.addr < 0 || b.span <= 0 || b.addr > e.Meta-b.span || ctx.Err() != nil {
			continue // its offset is unknown
		}
		got, err := sumOf(poolReader{v.k.pool, v.k.path(i)}, b.addr, b.span, nil)
		if err == nil && got != e.Groups[n] {
			part.find(Error, spot{block: b.name}, ErrChecksum, runsWrong, "the group sums to %08x, the manifest says %08x", got, e.Groups[n])
		}
	}
}

func (v *verifier) bytes() (n int64) {
	for i, f := range v.s.files {
		if v.k.man != nil {
			n += v.k.man.Files[i].Meta
		}
		if v.o.StructureOnly {
			continue
		}
		for k := range f.blocks {
			for s, x := range f.blocks[k].data {
				n += max(x.elems, 0) * v.s.schema.cols[s].typ.Size()
			}
		}
	}
	return n
}

// sum returns the CRC-32 of bytes of a file.
func (v *verifier) sum(ctx context.Context, file int, off, n int64, look func(p []byte)) (uint32, error) {
	return sumOf(poolReader{v.k.pool, v.k.path(file)}, off, n, func(p []byte) error {
		if look != nil {
			look(p)
		}
		if v.o.Progress != nil {
			v.o.Progress(v.done.Add(int64(len(p))), v.total)
		}
		return ctx.Err()
	})
}

// sumOf returns the CRC-32 of bytes of a file. each, if not nil, receives the bytes. If each returns an error, the reading
// stops.
func sumOf(r poolReader, off, n int64, each func(p []byte) error) (uint32, error) {
	buf := make([]byte, min(n, 1<<20))
	c := uint32(0)
	for n > 0 {
		p := buf[:min(n, int64(len(buf)))]
		if k, err := r.ReadAt(p, off); k < len(p) {
			if err == nil || errors.Is(err, io.EOF) {
				err = fault.At(r.name, off+int64(k), "", ErrTruncated, "%d of %d bytes", k, len(p))
			}
			return 0, err
		}
		c = crc32.Update(c, crc32.IEEETable, p)
		if each != nil {
			if err := each(p); err != nil {
				return 0, err
			}
		}
		off, n = off+int64(len(p)), n-int64(len(p))
	}
	return c, nil
}

// sumColumns returns the index in the schema of each dataset of the manifest. If a dataset is not in the schema, sumColumns
// reports a finding and returns nil.
func (v *verifier) sumColumns() []int {
	m := v.k.man
	cols := make([]int, len(m.Datasets))
	for i, name := range m.Datasets {
		c, ok := v.s.schema.byName[name]
		if !ok {
			v.add(Error, spot{file: cellodir.Manifest, field: name}, ErrCorrupt, "", "no block has that dataset")
			return nil
		}
		cols[i] = c
	}
	if len(cols) != len(v.s.schema.cols) {
		v.add(Error, spot{file: cellodir.Manifest, field: "datasets"}, ErrCorrupt, "", "%d, but blocks have %d", len(cols), len(v.s.schema.cols))
		return nil
	}
	return cols
}

// data reads all datasets, examines their values, and compares their checksums if there are any.
func (v *verifier) data(ctx context.Context) {
	var cols []int
	if v.k.man != nil {
		if cols = v.sumColumns(); cols == nil {
			return
		}
	}
	at := make([]int, len(v.s.schema.cols)) // by index in manifest.Datasets
	for i, c := range cols {
		at[c] = i
	}
	v.each(ctx, func(ctx context.Context, w chunk, part *portion) {
		f := v.s.files[w.file]
		for n := w.from; n < w.to; n++ {
			b := &f.blocks[n]
			if b.data == nil || ctx.Err() != nil {
				continue
			}
			for c := range v.k.cols {
				s := v.k.colAt[c]
				x := b.data[s]
				if x.elems < 0 || x.elems > 0 && x.off < 0 {
					continue // found before; or another program repacked the file, as the metadata show
				}
				got, err := v.sum(ctx, w.file, x.off, x.elems*v.s.schema.cols[s].typ.Size(), v.looker(part.survey, b, c))
				if err != nil {
					part.find(Error, spot{block: b.name, field: v.s.schema.cols[s].name}, err, aborts, "")
				} else if cols != nil {
					if want := v.k.man.Files[w.file].Data[n*len(cols)+at[s]]; got != want {
						part.find(Error, spot{block: b.name, field: v.s.schema.cols[s].name}, ErrChecksum, runsWrong, "data sum to %08x, the manifest says %08x", got, want)
					}
				}
			}
		}
	})
}

// looker returns a function that receives a leaf's dataset in pieces and passes them to a survey. It returns nil if there is
// nothing to examine.
func (v *verifier) looker(survey *survey, b *scanned, c int) func(p []byte) {
	col := &v.k.cols[c]
	if !b.known || !v.k.tree.Has(b.index) || !v.k.tree.Leaf(b.index) || b.level < 0 || !col.typ.Float() {
		return nil
	}
	at := int64(0)
	return func(p []byte) {
		if elem.HostBig != col.big {
			elem.Swap(p, p, col.typ.Size())
		}
		if col.field != nil {
			survey.field(b.index, col.place, v.k.ghosts[col.place], at, p)
		} else {
			survey.positions(b.index, col.ptype, col.attr, p)
		}
		at += int64(len(p) / col.typ.Size())
	}
}
