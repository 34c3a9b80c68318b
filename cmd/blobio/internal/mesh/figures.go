package mesh

import (
	"fmt"
	"math"
	"slices"

	"blobio/amr"
	"blobio/internal/cli"
	"blobio/internal/elem"
)

// floats are elements in the order of the host, as floats.
func floats(t amr.Type, b []byte) []float64 {
	et := elem.Parse(t.String())
	out := make([]float64, len(b)/max(et.Size(), 1))
	elem.Load(out, b, elem.HostBig, et)
	return out
}

// numbers are elements in the order of the host.
func numbers(t amr.Type, b []byte) []any {
	et := elem.Parse(t.String())
	view, out := et.View(b), make([]any, len(b)/max(et.Size(), 1))
	for i := range out {
		out[i] = elem.At(view, i)
	}
	return out
}

// stats are the figures of some values.
func stats(name string, t amr.Type, values []float64) amrStats {
	s := amrStats{Name: name, Type: t.String(), Min: cli.JSONFloat(math.Inf(1)), Max: cli.JSONFloat(math.Inf(-1))}
	sum, n := 0.0, 0
	for _, x := range values {
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

// keep keeps the values; nil stands for what JSON has no number for.
func (s *amrStats) keep(t amr.Type, b []byte) {
	s.Values = numbers(t, b)
	for i, x := range floats(t, b) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.Values[i] = nil
		}
	}
}

// safeJSON makes something that JSON can say of the value of an attribute.
func safeJSON(v any) any {
	switch v := v.(type) {
	case []float64:
		out := make([]cli.JSONFloat, len(v))
		for i, x := range v {
			out[i] = cli.JSONFloat(x)
		}
		return out
	case []float32:
		out := make([]cli.JSONFloat, len(v))
		for i, x := range v {
			out[i] = cli.JSONFloat(x)
		}
		return out
	case float64:
		return cli.JSONFloat(v)
	case float32:
		return cli.JSONFloat(v)
	case []byte:
		return slices.Collect(func(yield func(int) bool) {
			for _, b := range v {
				if !yield(int(b)) {
					return
				}
			}
		})
	}
	return v
}

// inner returns the values that are no ghosts.
func inner(g *amr.Geometry, f *amr.Field, values []float64) []float64 {
	if !f.Ghosts {
		return values
	}
	from, to := g.Shape(f.Spec, true), g.Shape(f.Spec, false)
	var out []float64
	for z := range to[2] {
		for y := range to[1] {
			at := ((z+g.Ghost[2])*from[1]+y+g.Ghost[1])*from[0] + g.Ghost[0]
			out = append(out, values[at:at+to[0]]...)
		}
	}
	return out
}

func figure(x cli.JSONFloat) string {
	if math.IsNaN(float64(x)) {
		return "-"
	}
	return fmt.Sprintf("%.6g", float64(x))
}
