package netcdf4

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"blobio/cdf5"
	"blobio/internal/base/cache"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// A View presents a netCDF-4 file as the equivalent CDF-5 file: a header, then big-endian data in canonical order. It
// decompresses chunks when they are read and caches some of them. It is safe for concurrent use.
type View struct {
	hdr    *cdf5.Header
	head   []byte
	size   int64
	places *cdf5.Places
	first  int64 // offset of the first record
	fixed  []int // fixed variables in order of offset
	record []int // record variables in order of offset
	data   []*h5.Dataset
	geo    []geometry
	chunks *cache.Cache[chunkKey, []byte]
	left   []error
}

// maxViewChunk is the maximum size in bytes of a readable chunk.
const maxViewChunk = 256 << 20

// entryBytes is the approximate overhead in bytes of a cached chunk.
const entryBytes = 256

func newView(o *opener) (*View, error) {
	v := &View{hdr: o.h, data: o.data, left: o.left}
	if err := o.h.Layout(&cdf5.LayoutOptions{OddNames: true}); err != nil {
		return nil, fmt.Errorf("%s: as CDF-5: %w", o.name, err)
	}
	var err error
	if v.head, err = o.h.AppendTo(nil, binary.BigEndian, false); err != nil {
		return nil, fmt.Errorf("%s: as CDF-5: %w", o.name, err)
	}
	v.size, v.places, v.first = o.h.FileSize(o.h.NumRecs), o.h.Places(), o.h.FirstRecord()
	for i := range o.h.Vars {
		if o.h.IsRecord(i) {
			v.record = append(v.record, i)
		} else {
			v.fixed = append(v.fixed, i)
		}
		g := newGeometry(v.data[i], o.h.IsRecord(i))
		if g.chunkBytes > maxViewChunk {
			return nil, fault.At(o.name, -1, "variable "+o.h.Vars[i].Name, fault.ErrTooLarge, "chunks of %d bytes, want at most %d", g.chunkBytes, maxViewChunk)
		}
		v.geo = append(v.geo, g)
	}
	for _, l := range [][]int{v.fixed, v.record} {
		sort.Slice(l, func(a, b int) bool { return o.h.Vars[l[a]].Begin < o.h.Vars[l[b]].Begin })
	}
	v.chunks = cache.New[chunkKey](maxViewChunk/4, func(b []byte) int64 { return int64(len(b)) + entryBytes })
	return v, nil
}

// Header returns the header of the CDF-5 file, with offsets.
func (v *View) Header() *cdf5.Header { return v.hdr }

// LeftOut returns one error of class ErrUnsupported for each member or attribute that CDF-5 cannot hold.
func (v *View) LeftOut() []error { return v.left }

// Head returns the encoded CDF-5 header. The caller must not change it.
func (v *View) Head() []byte { return v.head }

// Size is the length of the CDF-5 file in bytes.
func (v *View) Size() int64 { return v.size }

// ReadAt reads bytes of the CDF-5 file.
func (v *View) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fault.Class(fault.ErrUsage, "offset %d, want >= 0", off)
	}
	for n < len(p) && off < v.size {
		k, err := v.some(p[n:], off)
		if err != nil {
			return n, err
		}
		n, off = n+k, off+int64(k)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// some reads bytes from one piece: the header, a record of a variable, or padding.
func (v *View) some(p []byte, off int64) (int, error) {
	if off < int64(len(v.head)) {
		return copy(p, v.head[off:]), nil
	}
	list, rec, next := v.fixed, int64(0), v.size
	if len(v.record) > 0 && off >= v.first {
		list, rec = v.record, (off-v.first)/v.places.RecSize()
		next = v.first + (rec+1)*v.places.RecSize()
	} else if len(v.record) > 0 {
		next = v.first
	}
	begin := func(k int) int64 { at, _ := v.places.Extent(list[k], rec); return at }
	k := sort.Search(len(list), func(k int) bool { return begin(k) > off }) - 1
	if k+1 < len(list) {
		next = begin(k + 1)
	}
	if k >= 0 {
		at, n := v.places.Extent(list[k], rec)
		if off < at+n {
			p = p[:min(int64(len(p)), at+n-off)]
			return len(p), v.variable(p, list[k], rec, off-at)
		}
	}
	p = p[:min(int64(len(p)), min(next, v.size)-off)]
	clear(p)
	return len(p), nil
}

// variable reads bytes of a variable's record, from byte at of the record on.
func (v *View) variable(p []byte, i int, rec, at int64) error {
	w := int64(v.hdr.Vars[i].Type.Size())
	lo, hi := at/w, (at+int64(len(p))+w-1)/w
	b := p
	if lo*w != at || hi*w != at+int64(len(p)) { // the range begins or ends inside an element
		if hi-lo > 2 { // read all whole elements directly into p
			mid := (lo + 1) * w
			end := (hi - 1) * w
			for _, q := range [3][2]int64{{at, mid}, {mid, end}, {end, at + int64(len(p))}} {
				if err := v.variable(p[q[0]-at:q[1]-at], i, rec, q[0]); err != nil {
					return err
				}
			}
			return nil
		}
		b = make([]byte, (hi-lo)*w)
	}
	if len(b) == 0 {
		return nil
	}
	d, g := v.data[i], &v.geo[i]
	if g.record && rec >= g.dims[0] { // only other variables have that many records
		cdf5.FillBytes(b, v.hdr.Vars[i].Type, binary.BigEndian, v.hdr.FillAtt(i))
	} else {
		from := lo
		if g.record {
			from += rec * g.per
		}
		if err := v.elements(b, i, from); err != nil {
			return err
		}
		if !d.Type().BigEndian() {
			elem.Reorder(b, b, int(w), !elem.HostBig)
		}
	}
	if len(b) != len(p) || &b[0] != &p[0] {
		copy(p, b[at-lo*w:])
	}
	return nil
}

// elements reads elements of the flattened array of a dataset in the byte order of the file.
func (v *View) elements(b []byte, i int, from int64) error {
	d, g, name := v.data[i], &v.geo[i], v.hdr.Vars[i].Name
	if d.Storage() != h5.Chunked {
		if _, err := d.ReadAt(b, from*g.size); err != nil {
			return of(name, err)
		}
		return nil
	}
	var c []byte
	last := int64(-1)
	for len(b) > 0 {
		at := g.locate(from)
		if at.chunk != last {
			var err error
			if c, err = v.chunk(i, at.chunk); err != nil {
				return of(name, err)
			}
			last = at.chunk
		}
		n := min(at.run*g.size, int64(len(b)))
		copy(b[:n], c[at.off*g.size:])
		b, from = b[n:], from+n/g.size
	}
	return nil
}

// chunk returns the elements of a chunk that are inside the array.
func (v *View) chunk(i int, k int64) ([]byte, error) {
	return v.chunks.Make(context.Background(), chunkKey{i, k}, func() ([]byte, error) {
		g := &v.geo[i]
		start, count := g.region(k)
		n := g.size
		for _, c := range count {
			n *= c
		}
		b := make([]byte, n)
		return b, v.data[i].ReadRaw(start, count, b)
	})
}

// chunkKey is a variable and the index of a chunk in its grid.
type chunkKey struct {
	v int
	k int64
}

// Verify reads every chunk and passes each fault to report. It passes the number of CDF-5 bytes after each read to did. Verify
// stops with the error of ctx when ctx is done.
func (v *View) Verify(ctx context.Context, report func(error), did func(n int64)) error {
	const piece = 4 << 20
	var buf []byte
	for i := range v.data {
		g := &v.geo[i]
		n, each := v.data[i].Bytes(), int64(piece)
		read := func(k int64, b []byte) error { // reads contiguous data
			_, err := v.data[i].ReadAt(b, k*piece)
			return err
		}
		if g.chunk != nil {
			each = g.chunkBytes
			read = func(k int64, b []byte) error {
				start, count := g.region(k)
				return v.data[i].ReadRaw(start, count, b)
			}
		}
		for k := int64(0); n > 0; k++ {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			m := min(each, n)
			if g.chunk != nil {
				m = g.size
				_, count := g.region(k)
				for _, c := range count {
					m *= c
				}
			}
			if int64(cap(buf)) < m {
				buf = make([]byte, m)
			}
			if err := read(k, buf[:m]); err != nil {
				report(of(v.hdr.Vars[i].Name, err))
			}
			did(m)
			n -= m
		}
	}
	return nil
}

// of adds the name of the variable to an error.
func of(name string, err error) error {
	var fe *fault.FormatError
	if !errors.As(err, &fe) {
		return fmt.Errorf("variable %q: %w", name, err)
	}
	named := *fe
	named.Field = fmt.Sprintf("variable %q: %s", name, fe.Field)
	return &named
}
