package pio

import (
	"cmp"
	"errors"
	"unsafe"

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

// restored is the reverse of converted. A value that does not fit becomes the default fill value of the type in memory.
func restored(into any, b []byte, t cdf5.Type) error {
	n, have, _ := cdf5.SliceLen(into)
	size := t.Size()
	var first error
	for at := 0; ; {
		err := cdf5.FromFile(elem.Sub(into, at, n), b[at*size:], elem.HostBig, t)
		first = cmp.Or(first, err)
		var misfit *cdf5.RangeError
		if !errors.As(err, &misfit) {
			return first
		}
		bad := at + int(misfit.Index)
		if err := cdf5.FromFile(elem.Sub(into, at, bad), b[at*size:], elem.HostBig, t); err != nil {
			return err
		}
		at = bad + 1
		copy(bytesOf(elem.Sub(into, bad, at)), (&variable{t: have}).fill())
	}
}

// mixable reports whether a memory type and a file type convert into each other.
func mixable(memory, file cdf5.Type) bool { return (memory == cdf5.Char) == (file == cdf5.Char) }

// pack copies the elements of memory that are in the file, of size bytes each, to out, in the order of the runs.
func (d *Decomp) pack(out, memory []byte, size int64) {
	if d.place == nil {
		for _, s := range d.spans {
			out = out[copy(out, memory[s.at*size:(s.at+s.n)*size]):]
		}
		return
	}
	switch size {
	case 4:
		scatter(elementsOf[[4]byte](out), elementsOf[[4]byte](memory), d.place)
	case 8:
		scatter(elementsOf[[8]byte](out), elementsOf[[8]byte](memory), d.place)
	default:
		for i, p := range d.place {
			if p >= 0 {
				copy(out[p*size:(p+1)*size], memory[int64(i)*size:])
			}
		}
	}
}

// scatter copies each element of memory to its place in out; there is none for a hole.
func scatter[T any](out, memory []T, place []int64) {
	memory = memory[:len(place)]
	for i, p := range place {
		if p >= 0 {
			out[p] = memory[i]
		}
	}
}

// unpack is the reverse of pack. Elements that no file has stay unchanged.
func (d *Decomp) unpack(memory, packed []byte, size int64) {
	if d.place == nil {
		for _, s := range d.spans {
			packed = packed[copy(memory[s.at*size:(s.at+s.n)*size], packed):]
		}
		return
	}
	switch size {
	case 4:
		gather(elementsOf[[4]byte](memory), elementsOf[[4]byte](packed), d.place)
	case 8:
		gather(elementsOf[[8]byte](memory), elementsOf[[8]byte](packed), d.place)
	default:
		for i, p := range d.place {
			if p >= 0 {
				copy(memory[int64(i)*size:][:size], packed[p*size:])
			}
		}
	}
}

// gather is the reverse of scatter.
func gather[T any](memory, packed []T, place []int64) {
	memory = memory[:len(place)]
	for i, p := range place {
		if p >= 0 {
			memory[i] = packed[p]
		}
	}
}

// elementsOf returns bytes as elements of an array of bytes, which need no alignment.
func elementsOf[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// spare holds buffers for later writes and reads, by size: new memory costs several times as much as a copy to it.
type spare struct {
	of    map[int64][][]byte
	bytes int64
}

// take returns a buffer of n bytes of any content.
func (s *spare) take(n int64) []byte {
	list := s.of[n]
	if len(list) == 0 {
		return make([]byte, n)
	}
	b := list[len(list)-1]
	s.of[n], s.bytes = list[:len(list)-1], s.bytes-n
	return b
}

// give gives back a buffer that nothing uses. If more than limit bytes would be spare, the other buffers are freed, because their
// sizes may be out of use.
func (s *spare) give(b []byte, limit int64) {
	n := int64(len(b))
	if s.bytes+n > limit || s.of == nil {
		s.of, s.bytes = map[int64][][]byte{}, 0
	}
	if n > 0 && n <= limit {
		s.of[n], s.bytes = append(s.of[n], b), s.bytes+n
	}
}

// direct reports whether memory already holds the packed elements.
func (d *Decomp) direct() bool { return d.place == nil && d.kept == d.Len() }
