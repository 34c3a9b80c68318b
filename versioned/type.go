package versioned

import (
	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Type of the elements of an array.
type Type = elem.Type

// TypeOf is the type of elements that Put and Get take as T.
func TypeOf[T comm.Number]() Type { return elem.TypeOf[T]() }

// parseType is the reverse of Type.String.
func parseType(s string) (Type, error) {
	if t := elem.Parse(s); t.Valid() {
		return t, nil
	}
	return 0, fault.Usage("type %q, want int8 ... uint64, float32 or float64", s)
}

// bytesOf views a slice of numbers as its memory.
func bytesOf[T comm.Number](v []T) []byte { return elem.Bytes(v) }
