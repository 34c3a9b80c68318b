package netcdf4

import (
	"encoding/binary"
	"fmt"

	"blobio/cdf5"
	"blobio/internal/base/h5"
)

// order is the byte order of all data.
var order = binary.LittleEndian

// types holds the HDF5 type for each CDF type.
var types = [...]h5.Type{cdf5.Byte: h5.Int8, cdf5.Char: h5.FixedString(1), cdf5.Short: h5.Int16, cdf5.Int: h5.Int32, cdf5.Float: h5.Float32,
	cdf5.Double: h5.Float64, cdf5.UByte: h5.Uint8, cdf5.UShort: h5.Uint16, cdf5.UInt: h5.Uint32, cdf5.Int64: h5.Int64, cdf5.UInt64: h5.Uint64}

// attributed is an object that can have attributes.
type attributed interface {
	Attr(name string, t h5.Type, dims []int64, raw []byte)
	NullAttr(name string, t h5.Type)
}

// text adds a string of fixed length, without a terminator.
func text(to attributed, name, value string) {
	if value == "" {
		to.NullAttr(name, h5.FixedString(1))
		return
	}
	to.Attr(name, h5.FixedString(len(value)), nil, []byte(value))
}

// int32s encodes numbers as 32-bit integers.
func int32s(l []int) (b []byte) {
	for _, x := range l {
		b = order.AppendUint32(b, uint32(x))
	}
	return b
}

// atts adds a user's attributes.
func atts(to attributed, l []cdf5.Att) error {
	for i := range l {
		a := &l[i]
		n := a.Len()
		if n < 0 {
			return fmt.Errorf("attribute %q has a value of type %T, which does not fit the type %s", a.Name, a.Value, a.Type)
		}
		s, isText := a.Value.(string)
		switch {
		case isText:
			text(to, a.Name, s)
		case n == 0:
			to.NullAttr(a.Name, types[a.Type])
		default:
			b := make([]byte, n*int64(a.Type.Size()))
			if err := cdf5.ToFile(b, false, a.Type, a.Value); err != nil {
				return fmt.Errorf("attribute %q: %w", a.Name, err)
			}
			to.Attr(a.Name, types[a.Type], []int64{n}, b)
		}
	}
	return nil
}
