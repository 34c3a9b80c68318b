package blob

import "fmt"

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

// ParseLayout is the reverse of String; "variable", "process", "pnetcdf" and
// "hdf5" are accepted too.
func ParseLayout(s string) (Layout, error) {
	switch s {
	case "variable-centric", "variable", "pnetcdf":
		return VariableCentric, nil
	case "process-centric", "process", "hdf5":
		return ProcessCentric, nil
	case "canonical":
		return Canonical, nil
	}
	return 0, usageErr("layout %q, want variable-centric, process-centric or canonical", s)
}
