// Package dyn calls generic functions of package blob with values whose type is known only when the program runs.
package dyn

import (
	"blobio/blob"
	"blobio/internal/fault"
)

const pkg fault.Pkg = "dyn"

// Put is blob.Put for a slice of any of the types of E3SM's cases.
func Put(w *blob.Writer, v blob.VarID, rec int64, data any) error {
	switch x := data.(type) {
	case []float64:
		return blob.Put(w, v, rec, x)
	case []float32:
		return blob.Put(w, v, rec, x)
	case []int32:
		return blob.Put(w, v, rec, x)
	case []int64:
		return blob.Put(w, v, rec, x)
	case []byte:
		return blob.Put(w, v, rec, x)
	}
	return pkg.Errorf("put of %T", data)
}
