package cli

import (
	"math"
	"strconv"
)

// AppendShortest writes the shortest text that is read back as the same number.
func AppendShortest(b []byte, x float64, bits int) []byte {
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

// AppendFloat writes a number as CDL does.
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

// NumberText writes the shortest text of a number.
func NumberText(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Finite is a number for JSON, which has no NaN and no infinities.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// JsonFloat is a number; what JSON has no number for is null.
type JsonFloat float64

func (x JsonFloat) MarshalJSON() ([]byte, error) {
	if v := float64(x); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}
