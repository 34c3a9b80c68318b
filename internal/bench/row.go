package bench

import (
	"fmt"
	"math"
	"slices"
)

// A Bound is the time of plain I/O with the same number of bytes, measured in the same run after each turn of
// the row.
type Bound struct {
	What    string    `json:"what"`  // "raw write", "raw read"
	Bytes   int64     `json:"bytes"` // same as the row's; for a raw read, the size of the file
	Seconds []float64 `json:"seconds"`
}

// Row is one measurement. Workload, Data, What, Who and Ranks identify it.
type Row struct {
	Workload string `json:"workload"`
	Data     string `json:"data"` // "F h0 ne30, 64 ranks"
	What     string `json:"what"` // "write", "read of T", "convert to canonical"
	Who      string `json:"who"`  // "variable-centric", "process-centric"
	Ranks    int    `json:"ranks,omitempty"`
	Sync     bool   `json:"sync"` // the run waited for the device

	Bytes   int64                `json:"bytes"` // size of the files written or of the elements read
	Seconds []float64            `json:"seconds"`
	CPU     []float64            `json:"cpu_seconds,omitempty"`
	Phases  map[string][]float64 `json:"phases,omitempty"`
	Bounds  []Bound              `json:"bounds,omitempty"`

	Note string `json:"note,omitempty"`
}

// Median returns the median time in seconds.
func (r *Row) Median() float64 { return median(r.Seconds) }

// Rate returns bytes per second at the median time.
func (r *Row) Rate() float64 { return float64(r.Bytes) / r.Median() }

// Bound returns the named bound, or nil.
func (r *Row) Bound(what string) *Bound {
	for i := range r.Bounds {
		if r.Bounds[i].What == what {
			return &r.Bounds[i]
		}
	}
	return nil
}

// Share returns the rate of the row divided by the rate of the bound. It is NaN without the bound.
func (r *Row) Share(what string) float64 {
	b := r.Bound(what)
	if b == nil {
		return math.NaN()
	}
	return r.Rate() * median(b.Seconds) / float64(b.Bytes)
}

func (r *Row) add(t Took) {
	r.Seconds = append(r.Seconds, t.Seconds)
	if t.CPU > 0 {
		r.CPU = append(r.CPU, t.CPU)
	}
	if t.Bytes > 0 {
		r.Bytes = t.Bytes
	}
	for name, s := range t.Phases {
		if r.Phases == nil {
			r.Phases = map[string][]float64{}
		}
		r.Phases[name] = append(r.Phases[name], s)
	}
}

// bound adds one measurement of a bound.
func (r *Row) bound(what string, bytes int64, seconds float64) {
	b := r.Bound(what)
	if b == nil {
		r.Bounds = append(r.Bounds, Bound{What: what, Bytes: bytes})
		b = &r.Bounds[len(r.Bounds)-1]
	}
	b.Seconds = append(b.Seconds, seconds)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Range returns the minimum and maximum time in seconds.
func (r *Row) Range() (least, most float64) { return slices.Min(r.Seconds), slices.Max(r.Seconds) }

// OfRaw returns the rate of the row divided by the rate of plain writes or reads, if they were measured.
func (r *Row) OfRaw() (share float64, ok bool) {
	for _, what := range []string{"raw write", "raw read"} {
		if r.Bound(what) != nil {
			return r.Share(what), true
		}
	}
	return 0, false
}

// Seconds formats a time in a suitable unit.
func Seconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.1f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.2f ms", s*1e3)
	}
	return fmt.Sprintf("%.3f s", s)
}
