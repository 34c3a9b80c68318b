package mesh

import (
	"fmt"
	"math"

	"blobio/internal/amr"
	"blobio/internal/amr/grids"
	"blobio/internal/base/elem"
	"blobio/internal/cli"
)

// numbers decodes elements in host byte order.
func numbers(t amr.Type, b []byte) []any {
	et := elem.Parse(t.String())
	view, out := et.View(b), make([]any, len(b)/max(et.Size(), 1))
	for i := range out {
		out[i] = elem.At(view, i)
	}
	return out
}

// stats returns the statistics of some values.
func stats(name string, t amr.Type, data []byte) amrStats {
	s := amrStats{Name: name, Type: t.String(), Min: cli.JSONFloat(math.Inf(1)), Max: cli.JSONFloat(math.Inf(-1))}
	sum, n := 0.0, 0
	for _, x := range grids.Floats(t, data) {
		if math.IsNaN(x) {
			s.NaN++
			continue
		}
		s.Min, s.Max = min(s.Min, cli.JSONFloat(x)), max(s.Max, cli.JSONFloat(x))
		sum += x
		n++
	}
	if s.Mean = cli.JSONFloat(sum / float64(n)); n == 0 {
		s.Min, s.Max = cli.JSONFloat(math.NaN()), cli.JSONFloat(math.NaN())
	}
	return s
}

// keep stores the values; nil stands for a number that JSON cannot represent.
func (s *amrStats) keep(t amr.Type, b []byte) {
	s.Values = numbers(t, b)
	for i, x := range grids.Floats(t, b) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.Values[i] = nil
		}
	}
}

// safeJSON converts an attribute's value to a form that JSON can represent.
func safeJSON(v any) any {
	switch v := v.(type) {
	case []float64:
		return jsonFloats(v)
	case []float32:
		return jsonFloats(v)
	case []byte:
		out := make([]int, len(v))
		for i, b := range v {
			out[i] = int(b)
		}
		return out
	}
	return v
}

func jsonFloats[T float32 | float64](v []T) []cli.JSONFloat {
	out := make([]cli.JSONFloat, len(v))
	for i, x := range v {
		out[i] = cli.JSONFloat(x)
	}
	return out
}

func figure(x cli.JSONFloat) string {
	if math.IsNaN(float64(x)) {
		return "-"
	}
	return fmt.Sprintf("%.6g", float64(x))
}
