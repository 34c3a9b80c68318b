package netcdf4

import (
	"fmt"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/chunks"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// Options are the options of New. Nil means the defaults.
type Options struct {
	Filters    h5.Pipeline
	ChunkBytes int64  // maximum size of a chunk before compression; default 4 MiB
	Program    string // the program that wrote the file, such as "blobio=1.2"
}

// DefaultChunkBytes is the default of Options.ChunkBytes.
const DefaultChunkBytes = 4 << 20

// smallest is the minimum size in bytes of a fixed variable that has chunks and filters. Smaller ones are contiguous.
const smallest = 16 << 10

// A File is a netCDF-4 file to write. Encode returns the metadata, which are written last, at offset 0.
type File struct {
	b      *h5.Ordered
	hdr    *cdf5.Header
	scales []*h5.OrderedDataset // by dimension
	vars   []*Var
	filter *h5.Filterer
	start  int64
}

// A Var is a variable of a File.
type Var struct {
	*h5.OrderedDataset
	Grid chunks.Grid // grid of chunked data, including the record dimension
	file *File
	size int64  // bytes per element
	fill []byte // one element, little endian
}

// New lays out the file for a header. It ignores the header's version and offsets. The header's NumRecs is the number of
// records. For names and attributes that netCDF-4 cannot hold, the error is ErrUnsupported.
func New(hdr *cdf5.Header, o *Options) (*File, error) {
	if o == nil {
		o = &Options{}
	}
	target := o.ChunkBytes
	if target == 0 {
		target = DefaultChunkBytes
	}
	if target < 1 || target > 1<<30 {
		return nil, fault.Class(fault.ErrUsage, "chunks of %d bytes, want 1 to 1 GiB", target)
	}
	if err := checkNames(hdr); err != nil {
		return nil, err
	}
	filter, err := h5.NewFilterer(o.Filters)
	if err != nil {
		return nil, err
	}
	f := &File{b: h5.NewOrdered(), hdr: hdr, filter: filter}
	text(f.b, attProperties, "version=2,"+o.Program)
	if classic(hdr) { // mark the file as classic, so that programs treat it like a CDF file
		f.b.Attr(attStrict, h5.Int32, nil, int32s([]int{1}))
	}
	f.addScales()
	for v := range hdr.Vars {
		if err := f.add(v, target, o.Filters); err != nil {
			return nil, err
		}
	}
	if err := f.link(); err != nil {
		return nil, err
	}
	if f.start, err = f.b.Layout(); err != nil {
		return nil, fmt.Errorf("netCDF-4: %w", err)
	}
	return f, nil
}

// classic reports whether a header has only the types that netCDF had before version 4.
func classic(h *cdf5.Header) bool {
	atts := func(l []cdf5.Att) bool {
		return !slices.ContainsFunc(l, func(a cdf5.Att) bool { return !a.Type.ValidIn(cdf5.CDF2) })
	}
	return atts(h.Atts) && !slices.ContainsFunc(h.Vars, func(v cdf5.Var) bool { return !v.Type.ValidIn(cdf5.CDF2) || !atts(v.Atts) })
}

// Close releases the filters.
func (f *File) Close() { f.filter.Close() }

// Start is the first offset for chunks. Metadata and contiguous data come before it.
func (f *File) Start() int64 { return f.start }

// Vars returns the variables in the order of the header.
func (f *File) Vars() []*Var { return f.vars }

// Encode returns the bytes to write at offset 0. size is the size of the whole file. Var.SetChunk must have set every chunk.
func (f *File) Encode(size int64) ([]byte, error) { return f.b.Encode(size) }

// shape returns the shape of variable v, including the record dimension.
func (f *File) shape(v int) []int64 {
	s := make([]int64, len(f.hdr.Vars[v].Dims))
	for i, d := range f.hdr.Vars[v].Dims {
		if s[i] = f.hdr.Dims[d].Len; s[i] == 0 {
			s[i] = f.hdr.NumRecs
		}
	}
	return s
}

// coordinate returns the dimension for which v is the coordinate variable, or -1.
func (f *File) coordinate(v int) int {
	x := &f.hdr.Vars[v]
	if len(x.Dims) > 0 && f.hdr.Dims[x.Dims[0]].Name == x.Name {
		return x.Dims[0]
	}
	return -1
}

// addScales adds a dataset for each dimension without a coordinate variable. These datasets come first.
func (f *File) addScales() {
	f.scales = make([]*h5.OrderedDataset, len(f.hdr.Dims))
	own := make([]bool, len(f.hdr.Dims))
	for v := range f.hdr.Vars {
		if d := f.coordinate(v); d >= 0 {
			own[d] = true
		}
	}
	for d := range f.hdr.Dims {
		if own[d] {
			continue
		}
		n, o := f.hdr.Dims[d].Len, &h5.OrderedOptions{Empty: true}
		if n == 0 {
			n, o.Grow, o.Chunk = f.hdr.NumRecs, true, []int64{1024}
		}
		f.scales[d] = f.b.Dataset(f.hdr.Dims[d].Name, h5.Float32, []int64{n}, o)
		f.scale(f.scales[d], d, fmt.Sprintf("%s%10d", noVariable, n))
	}
}

// scale marks a dataset as the scale of dimension d. The mark must precede the dataset's other attributes.
func (f *File) scale(s *h5.OrderedDataset, d int, name string) {
	f.scales[d] = s
	// The HDF5 dimension scales library also writes the terminator.
	text(s, attClass, scaleClass+"\x00")
	text(s, attName, name+"\x00")
	s.Attr(attDimID, h5.Int32, nil, int32s([]int{d}))
}

// add adds the dataset of a variable, without references to dimensions.
func (f *File) add(v int, target int64, filters h5.Pipeline) error {
	x := &f.hdr.Vars[v]
	shape, size := f.shape(v), int64(x.Type.Size())
	name, dim := x.Name, f.coordinate(v)
	if dim < 0 && f.hdr.DimIndex(name) >= 0 {
		name = notCoordinate + name
	}
	n := &Var{file: f, size: size, fill: make([]byte, size)}
	cdf5.FillBytes(n.fill, x.Type, order, f.hdr.FillAtt(v))
	o := &h5.OrderedOptions{Fill: n.fill}
	bytes := size
	for _, k := range shape {
		if k > 0 && bytes > 1<<62/k {
			return fault.Class(fault.ErrTooLarge, "variable %q has shape %v with elements of %d bytes", x.Name, shape, size)
		}
		bytes *= k
	}
	record := f.hdr.IsRecord(v)
	if record || len(shape) > 0 && filters.On() && bytes >= smallest {
		n.Grid = chunks.Cut(shape, record, int(size), target)
		o.Grow, o.Chunk, o.Filters = record, n.Grid.Chunk, filters
	}
	n.OrderedDataset = f.b.Dataset(name, types[x.Type], shape, o)
	f.vars = append(f.vars, n)
	if dim >= 0 {
		f.scale(n.OrderedDataset, dim, x.Name)
	}
	return nil
}

// link adds the references between variables and dimensions, then the users' attributes.
func (f *File) link() error {
	uses := make([][]h5.Ref, len(f.hdr.Dims))
	for v, n := range f.vars {
		x := &f.hdr.Vars[v]
		if len(x.Dims) > 0 {
			n.Attr(attCoordinates, h5.Int32, []int64{int64(len(x.Dims))}, int32s(x.Dims))
		}
		if f.coordinate(v) >= 0 || len(x.Dims) == 0 {
			continue // a scale has no scales of its own
		}
		var to []*h5.OrderedDataset
		for i, d := range x.Dims {
			to = append(to, f.scales[d])
			uses[d] = append(uses[d], h5.Ref{To: n.OrderedDataset, Index: int32(i)})
		}
		n.RefAttr(attDims, to)
	}
	for d, l := range uses {
		if len(l) > 0 {
			f.scales[d].RefList(attRefs, l)
		}
	}
	for v, n := range f.vars {
		if err := atts(n.OrderedDataset, f.hdr.Vars[v].Atts); err != nil {
			return err
		}
	}
	return atts(f.b, f.hdr.Atts)
}
