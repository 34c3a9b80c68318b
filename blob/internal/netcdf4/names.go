package netcdf4

import (
	"strings"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// Attributes reserved by netCDF-4.
const (
	attClass       = "CLASS"
	attName        = "NAME"
	attRefs        = "REFERENCE_LIST"
	attDims        = "DIMENSION_LIST"
	attDimID       = "_Netcdf4Dimid"
	attCoordinates = "_Netcdf4Coordinates"
	attProperties  = "_NCProperties"
	attStrict      = "_nc3_strict"
)

// reserved holds the attribute names that users cannot use, because the netCDF library neither shows nor writes such
// attributes.
var reserved = map[string]bool{attClass: true, attName: true, attRefs: true, attDims: true, attDimID: true, attCoordinates: true,
	attProperties: true, attStrict: true, "_Format": true, "_IsNetcdf4": true, "_SuperblockVersion": true, "_NCCopied": true}

const (
	scaleClass = "DIMENSION_SCALE"
	// noVariable is the beginning of attribute NAME of a dimension without a variable. The length of the dimension
	// follows in 10 columns.
	noVariable = "This is a netCDF dimension but not a netCDF variable."
	// notCoordinate is a prefix for a variable that has the name of a dimension but is not its coordinate variable.
	notCoordinate = "_nc4_non_coord_"
)

// checkNames rejects names with a reserved meaning.
func checkNames(h *cdf5.Header) error {
	name := func(kind, s string) error {
		if strings.HasPrefix(s, notCoordinate) {
			return fault.Class(fault.ErrUnsupported, "%s %q: netCDF-4 reserves names that begin with %s", kind, s, notCoordinate)
		}
		if strings.ContainsAny(s, "/\x00") || s == "." || s == "" {
			return fault.Class(fault.ErrUnsupported, "%s %q is not a valid HDF5 name", kind, s)
		}
		return nil
	}
	atts := func(of string, l []cdf5.Att) error {
		for i := range l {
			if reserved[l[i].Name] {
				return fault.Class(fault.ErrUnsupported, "attribute %q of %s: netCDF-4 reserves this name", l[i].Name, of)
			}
		}
		return nil
	}
	for i := range h.Dims {
		if err := name("dimension", h.Dims[i].Name); err != nil {
			return err
		}
	}
	if err := atts("the file", h.Atts); err != nil {
		return err
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		if err := name("variable", v.Name); err != nil {
			return err
		}
		if err := atts("variable "+v.Name, v.Atts); err != nil {
			return err
		}
	}
	return nil
}
