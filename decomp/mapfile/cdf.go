package mapfile

import (
	"io"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// cdfFile is a CDF file as a container.
type cdfFile struct {
	r    io.ReaderAt
	size int64
	file string
	h    *cdf5.Header
	vars map[string]int
}

func readCDF(r io.ReaderAt, size int64, name string) (*File, error) {
	h, _, err := cdf5.DecodeHeader(r, size, &cdf5.DecodeOptions{File: name})
	if err != nil {
		return nil, err
	}
	c := &cdfFile{r: r, size: size, file: name, h: h, vars: make(map[string]int, len(h.Vars))}
	for i := range h.Vars {
		c.vars[h.Vars[i].Name] = i
	}
	if _, ok, _ := c.dim("num_procs"); ok {
		return readOld(c)
	}
	return readSchema(c)
}

func (c *cdfFile) name() string   { return c.file }
func (c *cdfFile) format() string { return c.h.Version.String() }

func (c *cdfFile) dim(name string) (int64, bool, error) {
	for i := range c.h.Dims {
		if d := &c.h.Dims[i]; d.Name == name {
			if i == c.h.Unlimited() {
				return c.h.NumRecs, true, nil
			}
			return d.Len, true, nil
		}
	}
	return 0, false, nil
}

func (c *cdfFile) ints(name string) ([]int64, bool, error) {
	a := cdf5.FindAtt(c.h.Atts, name)
	if a == nil {
		return nil, false, nil
	}
	switch v := a.Value.(type) {
	case []int32:
		out := make([]int64, len(v))
		for i, x := range v {
			out[i] = int64(x)
		}
		return out, true, nil
	case []int64:
		return v, true, nil
	}
	return nil, true, corrupt(c, "attribute "+name, "type %v, want int", a.Type)
}

func (c *cdfFile) text(name string) (string, bool, error) {
	a := cdf5.FindAtt(c.h.Atts, name)
	if a == nil {
		return "", false, nil
	}
	s, ok := a.Value.(string)
	if !ok {
		return "", true, corrupt(c, "attribute "+name, "type %v, want text", a.Type)
	}
	return s, true, nil
}

func (c *cdfFile) list(name string) (*list, error) {
	i, ok := c.vars[name]
	if !ok {
		return nil, nil
	}
	v := &c.h.Vars[i]
	if len(v.Dims) != 1 || c.h.IsRecord(i) {
		return nil, fault.At(c.file, -1, name, fault.ErrCorrupt, "number of dimensions %d, record variable: %v, want one dimension of fixed length", len(v.Dims), c.h.IsRecord(i))
	}
	if v.Type != cdf5.Int && v.Type != cdf5.Int64 {
		return nil, fault.At(c.file, -1, name, fault.ErrCorrupt, "type %v, want int", v.Type)
	}
	width := int64(v.Type.Size())
	n := c.h.Dims[v.Dims[0]].Len
	if v.Begin < 0 || v.Begin > c.size || n > (c.size-v.Begin)/width {
		return nil, fault.At(c.file, v.Begin, name, fault.ErrTruncated, "%d values at offset %d, but the file ends at %d", n, v.Begin, c.size)
	}
	l := &list{c: c, name: name, n: n, at: func(i int64) int64 { return v.Begin + i*width }}
	l.read = func(dst []int64, first int64) error {
		b, err := readPart(c.r, v.Begin+first*width, int64(len(dst))*width)
		if err != nil {
			return l.errAt(first, err, "cannot read %d values", len(dst))
		}
		return cdf5.FromFile(dst, b, true, v.Type)
	}
	return l, nil
}
