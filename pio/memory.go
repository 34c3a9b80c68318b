package pio

import (
	"cmp"
	"errors"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// memoryOf returns a caller's slice as a slice type of package cdf5, its number of elements and their type. Text has type Char.
func memoryOf(data any) (any, int64, cdf5.Type, error) {
	if text, ok := data.(Text); ok {
		return []byte(text), int64(len(text)), cdf5.Char, nil
	}
	data = elem.Fixed(data)
	n, t, ok := cdf5.SliceLen(data)
	if _, text := data.(string); !ok || text {
		return nil, 0, 0, failed(EBADTYPE, "data have type %T, want a slice of numbers, or Text", data)
	}
	return data, int64(n), t, nil
}

// bytesOf returns the bytes of a slice from memoryOf.
func bytesOf(v any) []byte {
	b, _ := cdf5.Bytes(v)
	return b
}

// converted converts a slice to elements of type t in the machine's byte order. It returns elements of type t without a copy.
func converted(t, have cdf5.Type, data any, fill []byte) ([]byte, error) {
	if t == have {
		return bytesOf(data), nil
	}
	n, _, _ := cdf5.SliceLen(data)
	size := t.Size()
	b := make([]byte, n*size)
	var first error
	for at := 0; ; {
		err := cdf5.ToFile(b[at*size:], elem.HostBig, t, elem.Sub(data, at, n))
		first = cmp.Or(first, err)
		var misfit *cdf5.RangeError
		if !errors.As(err, &misfit) {
			return b, first
		}
		bad := at + int(misfit.Index)
		if err := cdf5.ToFile(b[at*size:], elem.HostBig, t, elem.Sub(data, at, bad)); err != nil {
			return nil, err
		}
		at = bad + 1
		copy(b[bad*size:], fill)
	}
}

// mixable reports whether a memory type and a file type convert into each other.
func mixable(memory, file cdf5.Type) bool { return (memory == cdf5.Char) == (file == cdf5.Char) }

// pack copies the elements of memory that are in the file, of size bytes each, in the order of the runs.
func (d *Decomp) pack(memory []byte, size int64) []byte {
	out := make([]byte, d.kept*size)
	if d.place == nil {
		rest := out
		for _, s := range d.spans {
			rest = rest[copy(rest, memory[s.at*size:(s.at+s.n)*size]):]
		}
		return out
	}
	for i, p := range d.place {
		if p >= 0 {
			move(out[p*size:], memory[int64(i)*size:], size)
		}
	}
	return out
}

// unpack is the reverse of pack. Elements that no file has stay unchanged.
func (d *Decomp) unpack(memory, packed []byte, size int64) {
	if d.place == nil {
		for _, s := range d.spans {
			packed = packed[copy(memory[s.at*size:(s.at+s.n)*size], packed):]
		}
		return
	}
	for i, p := range d.place {
		if p >= 0 {
			move(memory[int64(i)*size:], packed[p*size:], size)
		}
	}
}

// move copies one element.
func move(dst, src []byte, size int64) {
	switch size {
	case 4:
		*(*[4]byte)(dst) = *(*[4]byte)(src)
	case 8:
		*(*[8]byte)(dst) = *(*[8]byte)(src)
	default:
		copy(dst[:size], src[:size])
	}
}

// direct reports whether memory already holds the packed elements.
func (d *Decomp) direct() bool { return d.place == nil && d.kept == d.Len() }
