package main

import (
	"math"
	"slices"
)

// steadySpread is the maximum spread of a steady row.
const steadySpread = 0.20

// spread is the middle half of the values, relative to their median.
func spread(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	at := func(q float64) float64 {
		x := q * float64(len(s)-1)
		i := int(x)
		j := min(i+1, len(s)-1)
		return s[i] + (x-float64(i))*(s[j]-s[i])
	}
	return (at(0.75) - at(0.25)) / at(0.5)
}

// Spread of the runs: the middle half of the times, relative to the median.
func (r *Row) Spread() float64 { return spread(r.Seconds) }

// steadiest returns where the n successive turns begin whose greatest spread of a row is least, and that spread. The choice does not depend
// on how fast a row was.
func steadiest(list []runner, n int) (from int, least float64) {
	least = math.Inf(1)
	for k := 0; k+n <= len(list[0].row.Seconds); k++ {
		most := 0.0
		for _, r := range list {
			most = max(most, spread(r.row.Seconds[k:min(k+n, len(r.row.Seconds))]))
		}
		if most < least {
			from, least = k, most
		}
	}
	return from, least
}

// window keeps the turns [from, from+n) of a row.
func (r *Row) window(from, n int) {
	turns := len(r.Seconds)
	r.Turns = turns
	cut := func(v []float64) []float64 {
		if len(v) != turns {
			return v
		}
		return v[from : from+n]
	}
	r.CPU, r.Load = cut(r.CPU), cut(r.Load)
	if len(r.Memory) == turns {
		r.Memory = r.Memory[from : from+n]
	}
	for name, v := range r.Phases {
		r.Phases[name] = cut(v)
	}
	for i := range r.Bounds {
		r.Bounds[i].Seconds = cut(r.Bounds[i].Seconds)
	}
	r.Seconds = cut(r.Seconds)
}
