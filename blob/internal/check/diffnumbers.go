package check

import (
	"math"
	"reflect"
)

// both is what the two datasets have, where there are two numbers.
type both struct {
	A any `json:"a"`
	B any `json:"b"`
}

// valueNumbers are the counts and examples of a variable whose values differ.
type valueNumbers struct {
	Different int64   `json:"different"` // values
	Of        int64   `json:"of"`        // that were compared
	First     []int64 `json:"first"`     // indices of the first of them
	A         any     `json:"a"`         // its values
	B         any     `json:"b"`
	Largest   any     `json:"largest"` // difference
}

// bothOf is both of what may be nil; nil if it is nothing but text.
func bothOf(x, y any) any {
	if x == nil && y == nil {
		return nil
	}
	return both{jsonNumbers(x), jsonNumbers(y)}
}

// jsonNumbers are values for JSON: text as it is, one number or several.
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

// jsonNumber is a number for JSON; what JSON has none for is a text: "NaN", "Infinity", "-Infinity".
func jsonNumber(x any) any {
	f, ok := x.(float64)
	if g, is := x.(float32); is {
		f, ok = float64(g), g != g || g-g != 0 // others are written shorter as they are
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
