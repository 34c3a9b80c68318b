package cf

import (
	"math"

	"blobio/internal/base/elem"
)

// None marks an element without a value in memory: a NaN that differs from any NaN in data.
var None = math.Float64frombits(0x7ff8_0000_0f11_0f11)

// IsNone reports whether a value is None.
func IsNone(x float64) bool { return math.Float64bits(x) == math.Float64bits(None) }

// Read calls read to fill a slice with stored numbers, and decodes the numbers into dst. Elements without a value become None.
func (m *Meaning) Read(dst []float64, read func(stored any) error) error {
	stored := any(dst)
	if m.stored != elem.Float64 {
		stored = m.stored.Make(len(dst))
	}
	if err := read(stored); err != nil {
		return err
	}
	m.Decode(dst, stored)
	return nil
}

// Decode decodes stored numbers into dst, which has the same length and may be the same slice. Elements without a value become
// None.
func (m *Meaning) Decode(dst []float64, stored any) { m.rule.decode(m, dst, m.numbers(stored)) }

func (r *rule[T]) decode(m *Meaning, dst []float64, numbers any) {
	for i, x := range numbers.([]T) {
		if r.absent(x) {
			dst[i] = None
			continue
		}
		dst[i] = float64(x)*m.scale + m.offset
		if m.single {
			dst[i] = float64(float32(dst[i]))
		}
	}
}

// numbers returns stored numbers with their actual signedness, in the same memory.
func (m *Meaning) numbers(stored any) any {
	if m.kind == m.stored {
		return stored
	}
	_, b, _ := elem.Of(stored)
	return m.kind.View(b)
}

// Values returns the values of stored numbers, and how many stand for no value. Packed or unsigned values may have another type.
// Values may reuse the memory of stored.
func (m *Meaning) Values(stored any) (values any, absent int64) {
	return m.rule.present(m, m.numbers(stored))
}

func (r *rule[T]) present(m *Meaning, numbers any) (any, int64) {
	src := numbers.([]T)
	n := r.first(src)
	for _, x := range src[min(n+1, len(src)):] {
		if !r.absent(x) {
			src[n] = x
			n++
		}
	}
	absent := int64(len(src) - n)
	if !m.packed {
		return src[:n], absent
	}
	if m.single {
		return unpacked[float32](m, src[:n]), absent
	}
	return unpacked[float64](m, src[:n]), absent
}

func unpacked[D float32 | float64, T elem.Number](m *Meaning, src []T) []D {
	out := make([]D, len(src))
	for i, x := range src {
		out[i] = D(float64(x)*m.scale + m.offset)
	}
	return out
}
