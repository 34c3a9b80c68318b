package pio

import (
	"maps"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// model is the expected content of a file, in memory and without ranks.
type model struct {
	dims    []dim
	vars    []*modelVar
	records int64
	atts    map[string]float64
}

type modelVar struct {
	name   string
	t      cdf5.Type
	dims   []int
	record bool
	fill   float64
	recs   map[int64][]float64 // key: record; 0 for a fixed variable
	atts   map[string]float64
}

func (m *model) shape(v *modelVar) []int64 {
	var n []int64
	for i, d := range v.dims {
		if !v.record || i > 0 {
			n = append(n, m.dims[d].n)
		}
	}
	return n
}

// of returns a record of a variable for writing.
func (m *model) of(v *modelVar, rec int64) []float64 {
	if v.recs[rec] == nil {
		v.recs[rec] = slices.Repeat([]float64{v.fill}, int(product(m.shape(v))))
	}
	if v.record {
		m.records = max(m.records, rec+1)
	}
	return v.recs[rec]
}

func (m *model) clone() *model {
	c := &model{dims: slices.Clone(m.dims), records: m.records, atts: maps.Clone(m.atts)}
	for _, v := range m.vars {
		x := *v
		x.recs, x.atts = map[int64][]float64{}, maps.Clone(v.atts)
		for r, a := range v.recs {
			x.recs[r] = slices.Clone(a)
		}
		c.vars = append(c.vars, &x)
	}
	return c
}

// defaultFill returns netCDF's fill value of a type.
func defaultFill(t cdf5.Type) float64 {
	one := make([]byte, t.Size())
	copy(one, (&variable{t: t}).fill())
	if t == cdf5.Char {
		return float64(one[0])
	}
	out := make([]float64, 1)
	must(cdf5.FromFile(out, one, elem.HostBig, t))
	return out[0]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
