package read

import (
	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// target is the caller's slice of a read: elements of the file's type go into
// it directly where its type is the same, and through a buffer otherwise.
type target struct {
	dst  any
	raw  []byte // of dst, host order, if no conversion is needed
	size int64
	file cdf5.Type
	buf  []byte
}

func newTarget(dst any, file cdf5.Type, n int64) (*target, error) {
	have, mem, ok := cdf5.SliceLen(dst)
	if !ok {
		return nil, fault.Usage("into a %T, want a slice of numbers", dst)
	}
	if int64(have) != n {
		return nil, fault.Usage("into %d elements, want %d", have, n)
	}
	t := &target{dst: dst, size: int64(file.Size()), file: file}
	if _, text := dst.(string); text {
		return nil, fault.Usage("into a string, want []byte")
	}
	if raw, _ := cdf5.Bytes(dst); dataset.SameType(mem, file) && int64(len(raw)) == n*t.size { // an []int may be narrower
		t.raw = raw
	} else if file == cdf5.Char {
		return nil, fault.Usage("char into %T, want []byte", dst)
	}
	return t, nil
}

// bytes returns room for n elements of the file's type from element at on.
func (t *target) bytes(at, n int64) []byte {
	if t.raw != nil {
		return t.raw[at*t.size : (at+n)*t.size]
	}
	if int64(cap(t.buf)) < n*t.size {
		t.buf = make([]byte, n*t.size)
	}
	t.buf = t.buf[:n*t.size]
	return t.buf
}

// convert moves what bytes returned to its place.
func (t *target) convert(at, n int64) error {
	if t.raw != nil {
		return nil
	}
	return cdf5.FromFile(subslice(t.dst, at, n), t.buf, dataset.HostBig, t.file)
}

func subslice(s any, at, n int64) any { return elem.Sub(elem.Fixed(s), int(at), int(at+n)) }

// NewSlice makes a slice of n elements of a file type, and its bytes.
func NewSlice(t cdf5.Type, n int64) (any, []byte) {
	s := cdf5.NewSlice(t, int(n))
	b, _ := cdf5.Bytes(s)
	return s, b
}
