package cello

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
)

// heads compares the checksums of the metadata of each file.
func (v *verifier) heads(ctx context.Context) {
	finds := make([][]Finding, len(v.s.files))
	_ = v.s.each(ctx, len(v.s.files), func(i int) {
		f, e := v.s.files[i], &v.k.man.Files[i]
		part := &scannedFile{name: f.name}
		if got, err := v.sum(ctx, i, 0, e.Meta); err != nil {
			part.find(Error, "", "", err, aborts, "")
		} else if got != uint32(e.Head) {
			part.find(Error, "", "metadata", ErrChecksum, runsWrong, "the first %d bytes sum to %08x, the manifest says %08x", e.Meta, got, uint32(e.Head))
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

// groups says which groups of a file are not what was written.
func (v *verifier) groups(ctx context.Context, i int, part *scannedFile) {
	f, e := v.s.files[i], &v.k.man.Files[i]
	for n := range min(len(e.Groups), len(f.blocks)) {
		b := &f.blocks[n]
		if b.addr < 0 || b.span <= 0 || b.addr > e.Meta-b.span || ctx.Err() != nil {
			continue // its place is not known
		}
		got, err := sumOf(poolReader{v.k.pool, v.k.path(i)}, b.addr, b.span, nil)
		if err == nil && got != e.Groups[n] {
			part.find(Error, b.name, "", ErrChecksum, runsWrong, "the group sums to %08x, the manifest says %08x", got, e.Groups[n])
		}
	}
}

// bytes is what heads and sums read.
func (v *verifier) bytes() (n int64) {
	for i, f := range v.s.files {
		n += v.k.man.Files[i].Meta
		if v.o.StructureOnly {
			continue
		}
		for k := range f.blocks {
			for s, x := range f.blocks[k].data {
				n += max(x.elems, 0) * v.s.schema[s].typ.Size()
			}
		}
	}
	return n
}

// sum is the CRC-32 of bytes of a file.
func (v *verifier) sum(ctx context.Context, file int, off, n int64) (uint32, error) {
	return sumOf(poolReader{v.k.pool, v.k.path(file)}, off, n, func(p []byte) error {
		if v.o.Progress != nil {
			v.o.Progress(v.done.Add(int64(len(p))), v.total)
		}
		return ctx.Err()
	})
}

// sumOf is the CRC-32 of bytes of a file; each, if it is given, sees them, and may end it.
func sumOf(r poolReader, off, n int64, each func(p []byte) error) (uint32, error) {
	buf := make([]byte, min(n, 1<<20))
	c := uint32(0)
	for n > 0 {
		p := buf[:min(n, int64(len(buf)))]
		if k, err := r.ReadAt(p, off); k < len(p) {
			if err == nil || errors.Is(err, io.EOF) {
				err = bad(r.name, off+int64(k), "", ErrTruncated, "%d of %d bytes", k, len(p))
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

// sums compares the checksums of all datasets.
func (v *verifier) sums(ctx context.Context) {
	m := v.k.man
	cols := make([]int, len(m.Datasets)) // in the schema
	for i, name := range m.Datasets {
		c, ok := v.s.byName[name]
		if !ok {
			v.add(Error, ManifestName, "", name, ErrCorrupt, "", "no block has that dataset")
			return
		}
		cols[i] = c
	}
	if len(cols) != len(v.s.schema) {
		v.add(Error, ManifestName, "", "datasets", ErrCorrupt, "", "%d, but blocks have %d", len(cols), len(v.s.schema))
		return
	}
	finds := make([][]Finding, len(v.s.files))
	_ = v.s.each(ctx, len(v.s.files), func(i int) {
		f, e := v.s.files[i], &m.Files[i]
		part := &scannedFile{name: f.name}
		for n := range f.blocks {
			b := &f.blocks[n]
			if b.data == nil || ctx.Err() != nil {
				continue
			}
			for c, s := range cols {
				x := b.data[s]
				if x.elems < 0 || x.elems > 0 && x.off < 0 {
					continue // told before; or repacked in another layout, which the metadata tell
				}
				got, err := v.sum(ctx, i, x.off, x.elems*v.s.schema[s].typ.Size())
				if err != nil {
					part.find(Error, b.name, v.s.schema[s].name, err, aborts, "")
				} else if want := e.Data[n*len(cols)+c]; got != want {
					part.find(Error, b.name, v.s.schema[s].name, ErrChecksum, runsWrong, "data sum to %08x, the manifest says %08x", got, want)
				}
			}
		}
		finds[i] = part.finds
	})
	for _, l := range finds {
		for _, d := range l {
			v.tell(d)
		}
	}
}
