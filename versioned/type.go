package versioned

import (
	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Type of the elements of an array.
type Type = elem.Type

const (
	Int8    = elem.Int8
	Int16   = elem.Int16
	Int32   = elem.Int32
	Int64   = elem.Int64
	Uint8   = elem.Uint8
	Uint16  = elem.Uint16
	Uint32  = elem.Uint32
	Uint64  = elem.Uint64
	Float32 = elem.Float32
	Float64 = elem.Float64
)

// parseType is the reverse of Type.String.
func parseType(s string) (Type, error) {
	if t := elem.Parse(s); t.Valid() {
		return t, nil
	}
	return 0, fault.Usage("type %q, want int8 ... uint64, float32 or float64", s)
}

// bytesOf views a slice of numbers as its memory.
func bytesOf[T comm.Number](v []T) []byte { return elem.Bytes(v) }
