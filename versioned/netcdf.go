package versioned

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/virtual"
	"blobio/internal/versioned/arrays"
)

// ErrNoForm means that an array has no netCDF form. Arrays of levels and snapshots of a hierarchy have none, because their
// boxes are packed into bytes.
var ErrNoForm = errors.New("no netCDF form")

// File is the netCDF form of an array, with a record for each version. Its bytes are computed when they are read. File is an
// io.ReaderAt and safe for concurrent use while its View is open. docs/format-versions.md describes the variables.
//
// File reads and verifies whole chunks. If a chunk is damaged or missing, or if its version was dropped after the File was
// made, only reads of the chunk's bytes return an error.
type File struct{ *virtual.File }

// netcdfTypes maps each element type to its CDF-5 type.
var netcdfTypes = [...]cdf5.Type{0, elem.Int8: cdf5.Byte, elem.Int16: cdf5.Short, elem.Int32: cdf5.Int, elem.Int64: cdf5.Int64, elem.Uint8: cdf5.UByte, elem.Uint16: cdf5.UShort,
	elem.Uint32: cdf5.UInt, elem.Uint64: cdf5.UInt64, elem.Float32: cdf5.Float, elem.Float64: cdf5.Double}

// NetCDF returns the CDF-5 form of the array. memory is the maximum size of the cache of chunks in bytes; 0 means 16 MiB.
// NetCDF returns ErrNoForm for an array of a hierarchy, and ErrKey for an encrypted array without its key.
func (v *View) NetCDF(memory int64) (*File, error) {
	if name, _ := arrays.Member(v.spec.Name); name != "" && v.spec.Type == elem.Uint8 && len(v.spec.Shape) == 1 {
		return nil, fmt.Errorf("array %s has boxes of a hierarchy: %w", v.spec.Name, ErrNoForm)
	}
	if v.sealed {
		return nil, fmt.Errorf("array %s is encrypted and no key was given: %w", v.spec.Name, ErrKey)
	}
	m := &netcdfMaker{v: v, h: &cdf5.Header{Version: cdf5.CDF5, NumRecs: int64(len(v.rec.Versions))}}
	if err := m.describe(); err != nil {
		return nil, err
	}
	f, err := virtual.New(v.dir, m.h, m, memory)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// netcdfMaker computes the variables. The first variables describe the versions, and their data are in memory. The last
// variable is the array.
type netcdfMaker struct {
	v    *View
	h    *cdf5.Header
	rows []func(i int) any // for each variable except the last, the function that returns its value for version i as a slice
}

func netcdfText(name, text string) cdf5.Att {
	return cdf5.Att{Name: name, Type: cdf5.Char, Value: text}
}

// free returns a name that differs from the array's name. Otherwise a dimension could have the name of the array, and
// programs would treat the array as the coordinate of this dimension.
func (m *netcdfMaker) free(name string) string {
	if name == m.v.spec.Name {
		return name + "_"
	}
	return name
}

func (m *netcdfMaker) dim(name string, n int64) int {
	m.h.Dims = append(m.h.Dims, cdf5.Dim{Name: m.free(name), Len: n})
	return len(m.h.Dims) - 1
}

// add adds a variable that describes the versions.
func (m *netcdfMaker) add(name string, t cdf5.Type, dims []int, row func(i int) any, atts ...cdf5.Att) {
	m.h.Vars = append(m.h.Vars, cdf5.Var{Name: m.free(name), Type: t, Dims: append([]int{0}, dims...), Atts: atts})
	m.rows = append(m.rows, row)
}

// addCount adds a variable with a number for each version. If all numbers are small, their type is int, because old programs
// do not support int64.
func (m *netcdfMaker) addCount(name, long string, of func(x *verInfo) int64) {
	list := m.v.rec.Versions
	if !slices.ContainsFunc(list, func(x verInfo) bool { return of(&x) > math.MaxInt32 }) {
		m.add(name, cdf5.Int, nil, func(i int) any { return []int32{int32(of(&list[i]))} }, netcdfText("long_name", long))
		return
	}
	m.add(name, cdf5.Int64, nil, func(i int) any { return []int64{of(&list[i])} }, netcdfText("long_name", long))
}

// describe makes the header.
func (m *netcdfMaker) describe() error {
	s, list := &m.v.spec, m.v.rec.Versions
	m.h.Atts = []cdf5.Att{{Name: "blobio_versions", Type: cdf5.Int, Value: []int32{1}}, netcdfText("title", "versions of the array "+s.Name)}
	m.dim("version", 0)
	shape, varies, labels := slices.Clone(list[0].Shape), false, 0
	for i := range list {
		x := &list[i]
		if !slices.Equal(x.Shape, shape) {
			if varies = true; len(shape) > 1 {
				return fault.At(m.v.dir, 0, "versions", ErrCorrupt, "version %d has shape %v, others have %v: shapes may differ only in the length of one dimension", x.Number, x.Shape, shape)
			}
			shape[0] = max(shape[0], x.Shape[0])
		}
		labels = max(labels, len(x.Label))
	}
	m.addCount("version", "number of the version", func(x *verInfo) int64 { return x.Number })
	m.add("version_time", cdf5.Double, nil, func(i int) any { return []float64{float64(list[i].Time) / 1e9} },
		netcdfText("long_name", "when the version was committed"), netcdfText("units", "seconds since 1970-01-01 00:00:00"), netcdfText("calendar", "standard"))
	m.addCount("version_generation", "generation of the array", func(x *verInfo) int64 { return int64(x.Generation) })
	if labels > 0 {
		d := m.dim("version_label_length", int64(labels))
		m.add("version_label", cdf5.Char, []int{d}, func(i int) any { return append(make([]byte, 0, labels), list[i].Label...)[:labels] },
			netcdfText("long_name", "label of the version"))
	}
	array := cdf5.Var{Name: s.Name, Type: netcdfTypes[s.Type], Dims: []int{0}}
	if varies {
		m.addCount("version_length", "elements of the array", func(x *verInfo) int64 { return x.Shape[0] })
		fill, _ := elem.One(cdf5.FillValue(array.Type))
		array.Atts = []cdf5.Att{{Name: "_FillValue", Type: array.Type, Value: fill}}
	}
	for d, n := range shape {
		array.Dims = append(array.Dims, m.dim(fmt.Sprintf("dim_%d", d), max(n, 1))) // a fixed dimension has no length 0, which marks the record dimension
	}
	m.h.Vars = append(m.h.Vars, array)
	return nil
}

// Unit implements virtual.Maker. A unit is a chunk of the array, or all values that describe a version.
func (m *netcdfMaker) Unit(k int, _, at int64) (lo, hi int64) {
	if n := m.h.Elems(k); k < len(m.rows) {
		return 0, n
	} else {
		per := m.v.cat.chunk / m.v.cat.size
		lo = at / per * per
		return lo, min(lo+per, n)
	}
}

// Make implements virtual.Maker.
func (m *netcdfMaker) Make(ctx context.Context, k int, rec, lo, hi int64, dst []byte) error {
	t := m.h.Vars[k].Type
	if k < len(m.rows) {
		b, _ := cdf5.Bytes(m.rows[k](int(rec)))
		elem.Reorder(dst, b, t.Size(), true)
		return nil
	}
	x := &m.v.rec.Versions[rec]
	n := int64(0) // number of bytes of the unit that the version has
	if end := min(hi, elems(x.Shape)); end > lo {
		n = (end - lo) * m.v.cat.size
		if err := m.v.cat.read(ctx, m.v.rec, x, lo, end-lo, dst[:n]); err != nil {
			return fmt.Errorf("version %d: %w", x.Number, err)
		}
		elem.Reorder(dst, dst[:n], t.Size(), true)
	}
	cdf5.FillBytes(dst[n:], t, binary.BigEndian, nil)
	return nil
}
