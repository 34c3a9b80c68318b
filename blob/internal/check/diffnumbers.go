package check

import (
	"math"
	"reflect"
)

// both has the two values of a difference as numbers.
type both struct {
	A any `json:"a"`
	B any `json:"b"`
}

// valueNumbers has the counts and examples of a variable whose values differ.
type valueNumbers struct {
	Different int64   `json:"different"` // number of different values
	Of        int64   `json:"of"`        // number of values that were compared
	First     []int64 `json:"first"`     // indices of the first different value
	A         any     `json:"a"`         // its values
	B         any     `json:"b"`
	Largest   any     `json:"largest"` // largest difference
}

// bothOf returns a pair of values; one of them may be nil. It returns nil if both are text.
func bothOf(x, y any) any {
	if x == nil && y == nil {
		return nil
	}
	return both{jsonNumbers(x), jsonNumbers(y)}
}

// jsonNumbers converts values to JSON: text, one number or several.
func jsonNumbers(x any) any {
	v := reflect.ValueOf(x)
	if x == nil || v.Kind() != reflect.Slice {
		return jsonNumber(x)
	}
	out := make([]any, v.Len())
	for i := range out {
		out[i] = jsonNumber(v.Index(i).Interface())
	}
	return out
}

// jsonNumber converts a number to JSON. NaN and infinities become the texts "NaN", "Infinity" and "-Infinity".
func jsonNumber(x any) any {
	f, ok := x.(float64)
	if g, is := x.(float32); is {
		f, ok = float64(g), g != g || g-g != 0 // so that a float32 prints with few digits
	}
	switch {
	case !ok:
		return x
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}
