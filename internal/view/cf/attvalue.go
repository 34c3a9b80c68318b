package cf

import (
	"fmt"
	"math"
	"strings"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// quoted formats an attribute for a message.
func quoted(a *cdf5.Att) string {
	const most = 40
	s, ok := a.Value.(string)
	if !ok {
		return strings.Trim(fmt.Sprint(a.Value), "[]")
	}
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Sprintf("%q", s)
}

// wides converts the numbers of an attribute to int64, uint64 or float64; ok is false for text.
func wides(a *cdf5.Att) (out []any, ok bool) {
	t, raw, ok := elem.Of(a.Value)
	if !ok || a.Type == cdf5.Char {
		return nil, false
	}
	n, big := len(raw)/t.Size(), elem.Float64
	switch {
	case !t.Float() && t.Signed():
		big = elem.Int64
	case !t.Float():
		big = elem.Uint64
	}
	as := big.Make(n)
	_, b, _ := elem.Of(as)
	elem.Store(b, elem.HostBig, big, a.Value)
	for i := range n {
		out = append(out, elem.At(as, i))
	}
	return out, true
}

// float converts a number from wides to float64.
func float(x any) float64 {
	switch y := x.(type) {
	case int64:
		return float64(y)
	case uint64:
		return float64(y)
	}
	return x.(float64)
}

// turned converts an attribute's number to the signedness of the stored numbers: -1 becomes 255 for unsigned bytes.
func (m *Meaning) turned(x any) any {
	bits := 8 * m.kind.Size()
	if f, ok := x.(float64); ok && f < 0 && f >= math.MinInt64 && f == math.Trunc(f) && m.kind != m.stored {
		x = int64(f)
	}
	switch y := x.(type) {
	case int64:
		if m.kind != m.stored && !m.kind.Signed() && y < 0 && y >= math.MinInt64>>(64-bits) {
			return uint64(y) << (64 - bits) >> (64 - bits)
		}
	case uint64:
		if m.kind != m.stored && m.kind.Signed() && y<<(64-bits)>>(64-bits) == y {
			return int64(y<<(64-bits)) >> (64 - bits)
		}
	}
	return x
}

// exact converts a number to T. A float type rounds it; ok is false if an integer type cannot hold it.
func exact[T elem.Number](x any) (y T, ok bool) {
	if elem.IsFloat[T]() {
		f := float(x)
		y = T(f)
		return y, math.IsInf(f, 0) || !math.IsInf(float64(y), 0)
	}
	switch z := x.(type) {
	case int64:
		y = T(z)
		return y, int64(y) == z && (y < 0) == (z < 0)
	case uint64:
		y = T(z)
		return y, uint64(y) == z && y >= 0
	}
	switch f := x.(float64); {
	case f != math.Trunc(f):
		return 0, false
	case f >= math.MinInt64 && f < 1<<63:
		return exact[T](int64(f))
	case f >= 1<<63 && f < 1<<64:
		return exact[T](uint64(f))
	}
	return 0, false
}
