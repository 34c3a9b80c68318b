package dataset

import (
	"fmt"
	"io"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// Layout is the order of elements in the files of a dataset.
type Layout uint8

const (
	// VariableCentric is PnetCDF's blob layout. A CDF-5 subfile has one blob per rank in every fixed variable and in every record
	// of a variable.
	VariableCentric Layout = iota
	// ProcessCentric is the HDF5 blob layout. A subfile has the datasets header_blob and data_blob, and data_blob has one blob per
	// rank with all variables of the rank.
	ProcessCentric
	// Canonical is an ordinary netCDF file in one of the CDF formats.
	Canonical
)

var layoutNames = [...]string{"variable-centric", "process-centric", "canonical"}

func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// Set implements flag.Value with ParseLayout.
func (l *Layout) Set(s string) (err error) {
	*l, err = ParseLayout(s)
	return err
}

// ParseLayout parses a name that String returns, or a short name.
func ParseLayout(s string) (Layout, error) {
	switch s {
	case "variable-centric", "variable", "pnetcdf":
		return VariableCentric, nil
	case "process-centric", "process", "hdf5":
		return ProcessCentric, nil
	case "canonical":
		return Canonical, nil
	}
	return 0, fault.Usage("layout %q, want variable-centric, process-centric or canonical", s)
}

// schemes has the uncompressed and the compressed scheme of each layout.
var schemes = [...][2]layout.Scheme{
	VariableCentric: {layout.Variable{}, nil},
	ProcessCentric:  {layout.Process{}, layout.Compressed{}},
	Canonical:       {layout.Canonical{}, nil},
}

// Traits returns the traits of a layout, or the zero value for an unknown layout.
func (l Layout) Traits() (t layout.Traits) {
	if int(l) < len(schemes) {
		t = layout.TraitsOf(schemes[l][0])
	}
	return t
}

// scheme returns the scheme of a layout. Compress.Fits has checked that the layout can be compressed.
func (l Layout) scheme(compress bool) layout.Scheme {
	if compress {
		return schemes[l][1]
	}
	return schemes[l][0]
}

// LayoutGrows reports whether files of the layout that has this name in a manifest can grow.
func LayoutGrows(name string) bool {
	for l, n := range layoutNames {
		if n == name {
			return Layout(l).Traits().Grows
		}
	}
	return false
}

// Place holds the offsets of all data of one subfile, and its schema.
type Place struct {
	layout.Place
	Layout Layout
	Schema *Schema
}

// NewPlace returns the Place of a file of size bytes, or of a file being written. The caller sets the header later.
func NewPlace(l Layout, compressed bool, size int64) *Place {
	return &Place{Place: layout.New(l.scheme(compressed), size), Layout: l}
}

// SetHeader sets the contents of a header of n bytes.
func (p *Place) SetHeader(h *cdf5.Header, n int64, s *Schema, sh *layout.Shape) {
	vars := make([]layout.Var, len(s.Vars))
	for i := range s.Vars {
		v := &s.Vars[i]
		vars[i] = layout.Var{Size: int64(v.Type.Size()), Elems: s.Elems(VarID(i)), Decomp: int(v.Decomp), Record: v.Record}
	}
	p.Schema = s
	p.Place.SetHeader(h, n, sh, len(s.Decomps), vars)
}

// Piece returns the file offset and the length of entry i's part of a variable's record. A variable without a decomposition
// belongs to sub rank 0.
func (p *Place) Piece(v VarID, rec int64, r *layout.Ranks, i int) (off, n int64) {
	return p.Place.Piece(int(v), rec, r, i)
}

// Backs checks that a file has n bytes at off, before memory for them is allocated. If a compressed file is much shorter than n,
// the data are decompressed step by step to find out whether the file really has them.
func (p *Place) Backs(f io.ReaderAt, off, n int64, name, field string) error {
	if sure, err := p.Backed(off, n, name, field); sure || err != nil {
		return err
	}
	b := make([]byte, p.Packed.Chunk)
	for at := off; at < off+n; at += int64(len(b)) {
		if err := layout.ReadFull(f, b[:min(int64(len(b)), off+n-at)], at, name, field); err != nil {
			return err
		}
	}
	return nil
}
