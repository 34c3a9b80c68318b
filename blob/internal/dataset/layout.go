package dataset

import (
	"fmt"
	"io"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// Layout says how the elements of a dataset lie in its files.
type Layout uint8

const (
	// VariableCentric is PnetCDF's blob layout: CDF-5 subfiles in which every
	// variable, and every record of one, holds one blob per rank.
	VariableCentric Layout = iota
	// ProcessCentric is the HDF5 blob layout: the datasets header_blob and
	// data_blob, one blob per rank that holds all its variables.
	ProcessCentric
	// Canonical is an ordinary netCDF file in one of the CDF formats.
	Canonical
)

var layoutNames = [...]string{"variable-centric", "process-centric", "canonical"}

// String returns the layout's name.
func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// Set is ParseLayout, for flag.Var.
func (l *Layout) Set(s string) (err error) {
	*l, err = ParseLayout(s)
	return err
}

// ParseLayout is the reverse of String, and takes short names.
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

// schemes of the layouts, not compressed and compressed.
var schemes = [...][2]layout.Scheme{
	VariableCentric: {layout.Variable{}, nil},
	ProcessCentric:  {layout.Process{}, layout.Compressed{}},
	Canonical:       {layout.Canonical{}, nil},
}

// Traits returns the traits of a layout; of an unknown one the zero value.
func (l Layout) Traits() (t layout.Traits) {
	if int(l) < len(schemes) {
		t = layout.TraitsOf(schemes[l][0])
	}
	return t
}

// scheme of a layout, which can be compressed if that is asked for: see Compress.Fits.
func (l Layout) scheme(compress bool) layout.Scheme {
	if compress {
		return schemes[l][1]
	}
	return schemes[l][0]
}

// LayoutGrows reports whether the layout of this name in a manifest does.
func LayoutGrows(name string) bool {
	for l, n := range layoutNames {
		if n == name {
			return Layout(l).Traits().Grows
		}
	}
	return false
}

// Place says where everything of one subfile lies, and of what schema it is.
type Place struct {
	layout.Place
	Layout Layout
	Schema *Schema
}

// NewPlace returns the Place of a file of size bytes, or of one that is being written. Its header is still to be set.
func NewPlace(l Layout, compressed bool, size int64) *Place {
	return &Place{Place: layout.New(l.scheme(compressed), size), Layout: l}
}

// SetHeader sets what a header says. It is n bytes long.
func (p *Place) SetHeader(h *cdf5.Header, n int64, s *Schema, sh *layout.Shape) {
	vars := make([]layout.Var, len(s.Vars))
	for i := range s.Vars {
		v := &s.Vars[i]
		vars[i] = layout.Var{Size: int64(v.Type.Size()), Elems: s.Elems(VarID(i)), Decomp: int(v.Decomp), Record: v.Record}
	}
	p.Schema = s
	p.Place.SetHeader(h, n, sh, len(s.Decomps), vars)
}

// Piece returns where entry i's part of a variable's record lies: file offset
// and bytes. A variable that is not decomposed is a piece of sub rank 0.
func (p *Place) Piece(v VarID, rec int64, r *layout.Ranks, i int) (off, n int64) {
	return p.Place.Piece(int(v), rec, r, i)
}

// Backs reports whether a file has n bytes at off, before they are allocated. Compressed ones that
// are far more than the file are decompressed, bit by bit, to know.
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
