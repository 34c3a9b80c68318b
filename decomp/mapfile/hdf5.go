package mapfile

import (
	"errors"
	"fmt"
	"io"

	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// deflateMost is the maximum ratio of deflate. It limits the size of decompressed data.
const deflateMost = 1032

// h5File is an HDF5 or netCDF-4 file as a container.
type h5File struct {
	size   int64
	file   string
	f      *h5.File
	root   *h5.Object
	netCDF bool
}

func readHDF5(r io.ReaderAt, size int64, name string) (*File, error) {
	f, err := h5.NewFile(r, size, name)
	if err != nil {
		return nil, err
	}
	root, err := f.Lookup("/")
	if err != nil {
		return nil, err
	}
	c := &h5File{size: size, file: name, f: f, root: root}
	if c.netCDF, err = c.has(root.Attr("_NCProperties")); err != nil {
		return nil, err
	}
	return readSchema(c)
}

func (c *h5File) name() string { return c.file }

func (c *h5File) format() string {
	if c.netCDF {
		return "NetCDF-4"
	}
	return "HDF5"
}

// has reports whether an attribute exists. It returns an error if the attribute cannot be read.
func (c *h5File) has(_ *h5.Attr, err error) (bool, error) {
	if errors.Is(err, fault.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

func (c *h5File) ints(name string) ([]int64, bool, error) {
	a, err := c.root.Attr(name)
	if ok, err := c.has(a, err); !ok {
		return nil, false, err
	}
	if a.Elems() > maxDims {
		return nil, true, corrupt(c, "attribute "+name, "%d values, want at most %d", a.Elems(), maxDims)
	}
	v, err := a.Int64s()
	return v, true, err
}

func (c *h5File) text(name string) (string, bool, error) {
	a, err := c.root.Attr(name)
	if ok, err := c.has(a, err); !ok {
		return "", false, err
	}
	s, err := a.Text()
	return s, true, err
}

func (c *h5File) dim(name string) (int64, bool, error) {
	if v, ok, err := c.ints("-DIM_" + name); ok || err != nil {
		if err == nil && len(v) != 1 {
			err = corrupt(c, "attribute -DIM_"+name, "%d values, want 1", len(v))
		}
		if err != nil {
			return 0, false, err
		}
		return v[0], true, nil
	}
	d, err := c.dataset(name)
	if d == nil || err != nil {
		return 0, false, err
	}
	dims := d.Dims()
	if len(dims) != 1 {
		return 0, false, corrupt(c, "dimension "+name, "the dataset has %d dimensions, want 1", len(dims))
	}
	return dims[0], true, nil
}

// dataset returns the dataset with this name, or nil.
func (c *h5File) dataset(name string) (*h5.Dataset, error) {
	d, err := c.f.Dataset(name)
	if errors.Is(err, fault.ErrMissing) {
		return nil, nil
	}
	return d, err
}

func (c *h5File) list(name string) (*list, error) {
	d, err := c.dataset(name)
	if d == nil || err != nil {
		return nil, err
	}
	dims := d.Dims()
	if len(dims) != 1 {
		return nil, corrupt(c, name, "%d dimensions, want 1", len(dims))
	}
	t := d.Type()
	if !t.Numeric() || t.Class() != h5.ClassInt || t.Size() < 4 {
		return nil, corrupt(c, name, "type %v, want int", t)
	}
	most := c.size
	if d.Storage() == h5.Chunked {
		if most > (1<<62)/deflateMost {
			most = 1 << 62
		} else {
			most *= deflateMost
		}
	}
	if dims[0] > most/t.Size() {
		return nil, fault.At(c.file, -1, name, fault.ErrTruncated, "%d values of %d bytes in a file of %d bytes", dims[0], t.Size(), c.size)
	}
	l := &list{c: c, name: name, n: dims[0], at: func(i int64) int64 {
		if off, ok := d.Offset(); ok {
			return off + i*t.Size()
		}
		return -1
	}}
	l.read = func(dst []int64, first int64) error {
		if len(dst) == 0 {
			return nil
		}
		if err := d.Read([]int64{first}, []int64{int64(len(dst))}, dst); err != nil {
			return fmt.Errorf("%s[%d]: %w", name, first, err)
		}
		return nil
	}
	return l, nil
}
