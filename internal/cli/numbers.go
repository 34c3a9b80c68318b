package cli

import (
	"math"
	"strconv"
)

// AppendShortest appends the shortest text that parses to the same number.
func AppendShortest(b []byte, x float64, bits int) []byte {
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

// AppendFloat appends a number in CDL's format.
func AppendFloat(b []byte, x float64, digits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, "NaN"...)
	case math.IsInf(x, 1):
		return append(b, "Infinity"...)
	case math.IsInf(x, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, x, 'g', digits, 64)
}

// NumberText returns the shortest text of a number.
func NumberText(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Finite returns x for JSON, or nil for a NaN or an infinity, which JSON lacks.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// JSONFloat is a number that marshals to null if JSON cannot represent it.
type JSONFloat float64

func (x JSONFloat) MarshalJSON() ([]byte, error) {
	if v := float64(x); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}
