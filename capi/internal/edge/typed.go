package edge

import (
	"fmt"
	"reflect"
	"unsafe"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
)

// View returns n elements of type t at address p as a slice of the matching Go type: []byte for Char. The memory belongs to the
// caller, and the garbage collector does not know it. For 0 elements any address is valid.
func View(t cdf5.Type, p uintptr, n int64) (any, error) {
	if !t.Valid() {
		return nil, Usage("type %d, want 1..11", t)
	}
	v := cdf5.NewSlice(t, 0)
	align := uintptr(reflect.TypeOf(v).Elem().Align())
	b, err := memory(p, n, int64(t.Size()), align)
	if err != nil || len(b) == 0 {
		return v, err
	}
	return cdf5.View(t, b), nil
}

// firstPage is lower than every data address of a process.
const firstPage = 4096

// Slice is View for a type that is known at compile time.
func Slice[T any](p uintptr, n int64) ([]T, error) {
	var z T
	b, err := memory(p, n, int64(unsafe.Sizeof(z)), unsafe.Alignof(z))
	if err != nil || len(b) == 0 {
		return []T{}, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), int(n)), nil
}

// memory returns n elements of size bytes at address p.
func memory(p uintptr, n, size int64, align uintptr) ([]byte, error) {
	switch {
	case n < 0:
		return nil, Usage("%d elements, want >= 0", n)
	case n == 0:
		return nil, nil
	case p == 0:
		return nil, Usage("the array is NULL, but has %d elements", n)
	case p < firstPage || n > int64(^uint(0)>>1)/size || uint64(n) > uint64(^p)/uint64(size):
		return nil, fmt.Errorf("%d elements at %#x: %w", n, p, ErrFault)
	case p%align != 0:
		return nil, Usage("address %#x is not aligned for elements of %d bytes", p, size)
	}
	return unsafe.Slice((*byte)(pointer(p)), int(n*size)), nil
}

// pointer makes a pointer from an address of the caller's memory. This memory does not move, and the pointer does not keep it
// alive.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// Store writes v to address p unless p is NULL.
func Store[T any](p uintptr, v T) error {
	if p == 0 {
		return nil
	}
	s, err := Slice[T](p, 1)
	if err == nil {
		s[0] = v
	}
	return err
}

// maxString is the maximum number of bytes of a caller's string.
const maxString = 1 << 20

// String returns a copy of the NUL-terminated string at address p.
func String(what string, p uintptr) (string, error) {
	if p == 0 {
		return "", Usage("%s is NULL", what)
	}
	if p < firstPage {
		return "", fmt.Errorf("%s at %#x: %w", what, p, ErrFault)
	}
	for n := uintptr(0); n < maxString; n++ {
		if *(*byte)(pointer(p + n)) == 0 {
			return string(unsafe.Slice((*byte)(pointer(p)), int(n))), nil
		}
	}
	return "", Usage("%s is longer than %d bytes", what, maxString)
}

// Strings reads the strings of a NULL-terminated array of pointers.
func Strings(what string, p uintptr) (list []string, err error) {
	for ; p != 0; p += unsafe.Sizeof(p) {
		at := *(*uintptr)(pointer(p))
		if at == 0 {
			break
		}
		s, err := String(what, at)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// PutString writes s and a NUL to a buffer of size bytes. If s does not fit, PutString writes its beginning and returns an error
// with the required size. It writes nothing to a NULL buffer of 0 bytes.
func PutString(what string, p uintptr, size int64, s string) error {
	if p == 0 && size == 0 {
		return nil
	}
	b, err := Slice[byte](p, size)
	if err != nil {
		return fmt.Errorf("buffer of %s: %w", what, err)
	}
	if len(b) > 0 {
		n := copy(b[:len(b)-1], s)
		b[n] = 0
	}
	if len(b) <= len(s) {
		return fmt.Errorf("%s needs %d bytes with its NUL, but the buffer has %d: %w", what, len(s)+1, size, ErrSmall)
	}
	return nil
}

// Bytes returns the bytes of a slice of numbers from View.
func Bytes(v any) []byte {
	b, _ := cdf5.Bytes(v)
	return b
}

// Make returns a new slice of the type that View returns.
func Make(t cdf5.Type, n int64) (any, error) {
	if size := int64(t.Size()); size == 0 {
		return nil, Usage("type %d, want 1..11", t)
	} else if n < 0 || n > int64(^uint(0)>>1)/size {
		return nil, fmt.Errorf("%d elements of %d bytes: %w", n, size, blob.ErrTooLarge)
	}
	return cdf5.NewSlice(t, int(n)), nil
}

// Convert copies src to dst, which are slices with equally many numbers. If a value does not fit, the error names its index.
// Text (a string, or the bytes of a text variable) converts only to bytes.
func Convert(dst, src any, text bool) error {
	n, t, ok := cdf5.SliceLen(src)
	m, _, also := cdf5.SliceLen(dst)
	if !ok || !also {
		return Usage("cannot convert a %T to a %T", src, dst)
	}
	if m != n {
		return Usage("%d elements, want %d", m, n)
	}
	if !text {
		return cdf5.FromFile(dst, Bytes(src), elem.HostBig, t)
	}
	d, ok := dst.([]byte)
	if !ok {
		return Usage("destination for text is %T, want bytes", dst)
	}
	switch s := src.(type) {
	case string:
		copy(d, s)
	case []byte:
		copy(d, s)
	}
	return nil
}

// Runs makes requests from offsets and lengths.
func Runs(offsets, lengths []int64) []decomp.Req {
	r := make([]decomp.Req, len(offsets))
	for i := range r {
		r[i] = decomp.Req{Offset: offsets[i], Length: lengths[i]}
	}
	return r
}
