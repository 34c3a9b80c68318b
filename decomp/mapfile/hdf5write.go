package mapfile

import (
	"encoding/binary"
	"fmt"
	"io"

	"blobio/internal/base/h5"
)

// WriteHDF5 writes an HDF5 map file to w, sequentially, in the schema of dat2decomp -a hdf5. Errors are as in WriteCDF.
func WriteHDF5(w io.Writer, f *File, o *WriteOptions) error {
	c, err := newContents(f, o)
	if err != nil {
		return err
	}
	typ := h5.Int32
	if c.width == 8 {
		typ = h5.Int64
	}
	b := h5.NewBuilder()
	for _, d := range c.dims {
		b.Attr("-DIM_"+d.name, h5.Uint64, nil, []uint64{uint64(d.n)})
	}
	put := func(to interface {
		Attr(string, h5.Type, []int64, any)
	}, atts []attr) {
		for _, a := range atts {
			if a.ints == nil {
				to.Attr(a.name, h5.FixedString(len(a.text)+1), nil, a.text)
			} else {
				to.Attr(a.name, typ, []int64{int64(len(a.ints))}, a.ints)
			}
		}
	}
	put(b, c.atts)
	sets := make([]*h5.DatasetBuilder, len(c.vars))
	for i, v := range c.vars {
		sets[i] = b.Dataset(v.name, typ, []int64{c.dims[v.dim].n}, nil)
		put(sets[i], v.atts)
	}
	l, err := b.Layout()
	if err != nil {
		return err
	}
	n := &numWriter{w: w, order: binary.LittleEndian, width: c.width}
	for _, p := range l.Pieces { // all metadata precede the data, which are in creation order
		n.pad(p.Off)
		n.bytes(p.Data)
	}
	for i, v := range c.vars {
		if n.err == nil && sets[i].Offset() < n.n {
			return fmt.Errorf("the data of %s would begin before the end of the metadata", v.name)
		}
		n.pad(sets[i].Offset())
		v.write(n)
	}
	n.pad(l.Size)
	n.flush()
	return n.err
}
