// Package dyn calls generic functions of package blob with values whose type is known only when the program runs.
package dyn

import (
	"blobio/blob"
	"blobio/internal/base/fault"
)

// Put calls blob.Put with a slice of any numeric type. For another value it returns ErrUsage.
func Put(w *blob.Writer, v blob.VarID, rec int64, data any) error {
	return call{w: w, v: v, rec: rec, whole: true}.put(data)
}

// PutAt calls blob.PutAt with a slice of any numeric type. For another value it returns ErrUsage.
func PutAt(w *blob.Writer, v blob.VarID, rec int64, start, count []int64, data any) error {
	return call{w, v, rec, start, count, false}.put(data)
}

// call is a call of blob.Put or blob.PutAt.
type call struct {
	w            *blob.Writer
	v            blob.VarID
	rec          int64
	start, count []int64
	whole        bool // blob.Put
}

func putNumbers[T blob.Number](c call, data []T) error {
	if c.whole {
		return blob.Put(c.w, c.v, c.rec, data)
	}
	return blob.PutAt(c.w, c.v, c.rec, c.start, c.count, data)
}

func (c call) put(data any) error {
	switch x := data.(type) {
	case []int8:
		return putNumbers(c, x)
	case []uint8:
		return putNumbers(c, x)
	case []int16:
		return putNumbers(c, x)
	case []uint16:
		return putNumbers(c, x)
	case []int32:
		return putNumbers(c, x)
	case []uint32:
		return putNumbers(c, x)
	case []int64:
		return putNumbers(c, x)
	case []uint64:
		return putNumbers(c, x)
	case []float32:
		return putNumbers(c, x)
	case []float64:
		return putNumbers(c, x)
	}
	return fault.Usage("put of a %T", data)
}
