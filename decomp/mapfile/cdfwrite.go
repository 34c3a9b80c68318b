package mapfile

import (
	"encoding/binary"
	"io"

	"blobio/cdf5"
)

// cdfHeaderAlign is the alignment of the data, as in dat2nc (nc_header_align_size).
const cdfHeaderAlign = 8192

// WriteCDF writes a CDF-5 map file to w, sequentially. dat2nc writes the same bytes for the same maps. An ErrTooLarge means that
// a number needs WriteOptions.Wide. An ErrUsage means that f is inconsistent or a map is empty.
func WriteCDF(w io.Writer, f *File, o *WriteOptions) error {
	c, err := newContents(f, o)
	if err != nil {
		return err
	}
	h := &cdf5.Header{Version: cdf5.CDF5, Atts: c.cdfAtts(c.atts)}
	typ := c.cdfType()
	for _, d := range c.dims {
		h.Dims = append(h.Dims, cdf5.Dim{Name: d.name, Len: d.n})
	}
	for _, v := range c.vars {
		h.Vars = append(h.Vars, cdf5.Var{Name: v.name, Type: typ, Dims: []int{v.dim}, Atts: c.cdfAtts(v.atts)})
	}
	if err := h.Layout(&cdf5.LayoutOptions{HeaderAlign: cdfHeaderAlign}); err != nil {
		return err
	}
	head, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		return err
	}
	n := &numWriter{w: w, order: binary.BigEndian, width: c.width}
	n.bytes(head)
	for i, v := range c.vars {
		n.pad(h.Vars[i].Begin)
		v.write(n)
	}
	n.flush()
	return n.err
}

func (c *contents) cdfType() cdf5.Type {
	if c.width == 8 {
		return cdf5.Int64
	}
	return cdf5.Int
}

func (c *contents) cdfAtts(atts []attr) []cdf5.Att {
	var out []cdf5.Att
	for _, a := range atts {
		switch {
		case a.ints == nil:
			out = append(out, cdf5.Att{Name: a.name, Type: cdf5.Char, Value: a.text})
		case c.width == 8:
			out = append(out, cdf5.Att{Name: a.name, Type: cdf5.Int64, Value: a.ints})
		default:
			v := make([]int32, len(a.ints))
			for i, x := range a.ints {
				v[i] = int32(x)
			}
			out = append(out, cdf5.Att{Name: a.name, Type: cdf5.Int, Value: v})
		}
	}
	return out
}
