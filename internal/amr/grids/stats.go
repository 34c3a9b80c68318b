package grids

import (
	"context"
	"math"
)

// Figures describe a field over the uncovered cells. NaN and infinite values are only counted.
type Figures struct {
	Cells    int64   // number of uncovered cells
	NaN, Inf int64   // number of NaN and infinite values in these cells
	Volume   float64 // volume of the cells with finite values; the width on axes beyond the rank is 1
	Total    float64 // sum of values times volumes
	Mean     float64 // Total over Volume
	Std      float64 // the standard deviation, weighted by volume
	Min, Max float64 // NaN if there are no finite values
	MinAt    Place
	MaxAt    Place
	squares  float64 // sum of squared, weighted deviations from Mean
}

// FieldStats holds the figures of a field.
type FieldStats struct {
	Field
	Figures
	Levels []Figures // by level, coarsest first
}

// part holds the figures of one box. The extrema have cell numbers instead of Places.
type part struct {
	Figures
	min, max int
}

// Stats computes figures of fields. progress may be nil.
func (m *Mesh) Stats(ctx context.Context, fields []int, progress func(done, total int64)) ([]FieldStats, error) {
	out := make([]FieldStats, len(fields))
	for i, f := range fields {
		out[i] = FieldStats{Field: m.Fields[f], Figures: noFigures(), Levels: make([]Figures, len(m.Levels))}
		for l := range out[i].Levels {
			out[i].Levels[l] = noFigures()
		}
	}
	list := m.boxes(nil)
	done := int64(0)
	err := each(ctx, m, list, fields, func(r ref, values [][]float64) ([]part, error) {
		b := &m.Levels[r.level].Boxes[r.box]
		mask, parts := m.mask(r.level, b), make([]part, len(fields))
		volume := m.volume(r.level)
		for i := range parts {
			parts[i] = figuresOf(values[i], mask, volume)
		}
		return parts, nil
	}, func(r ref, parts []part) error {
		b := &m.Levels[r.level].Boxes[r.box]
		for i := range parts {
			p := &parts[i]
			if !math.IsNaN(p.Min) {
				p.MinAt, p.MaxAt = m.place(r, b, p.min), m.place(r, b, p.max)
			}
			out[i].Levels[r.level].add(&p.Figures)
		}
		if done++; progress != nil {
			progress(done, int64(len(list)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		for l := range out[i].Levels {
			out[i].Figures.add(&out[i].Levels[l])
			out[i].Levels[l].finish()
		}
		out[i].Figures.finish()
	}
	return out, nil
}

func noFigures() Figures { return Figures{Min: math.NaN(), Max: math.NaN()} }

// place returns the place of a cell of a box by its number.
func (m *Mesh) place(r ref, b *Box, i int) Place {
	n := b.Len()
	return Place{r.level, m.BoxName(r.level, r.box), m.Centre(r.level, [3]int{b.Lo[0] + i%n[0], b.Lo[1] + i/n[0]%n[1], b.Lo[2] + i/n[0]/n[1]})}
}

// volume returns the volume of a cell of a level.
func (m *Mesh) volume(level int) float64 {
	v := 1.0
	for a := range m.Rank {
		v *= m.Levels[level].Width[a]
	}
	return v
}

// figuresOf returns the figures of the uncovered cells of a box.
func figuresOf(values []float64, mask []bool, volume float64) part {
	p := part{Figures: noFigures()}
	lo, hi := math.Inf(1), math.Inf(-1)
	p.min, p.max = -1, -1
	var sum, lost float64 // sum, and its rounding error
	for i, v := range values {
		if mask != nil && mask[i] {
			continue
		}
		p.Cells++
		if d := v - v; d != 0 { // true for NaN and infinities
			if v != v {
				p.NaN++
			} else {
				p.Inf++
			}
			continue
		}
		if v < lo {
			lo, p.min = v, i
		}
		if v > hi {
			hi, p.max = v, i
		}
		p.Volume += volume
		x := v*volume - lost
		t := sum + x
		lost = (t - sum) - x
		sum = t
	}
	if p.min < 0 {
		return p
	}
	p.Min, p.Max, p.Total = lo, hi, sum
	p.Mean = sum / p.Volume
	for i, v := range values {
		if mask != nil && mask[i] || v-v != 0 {
			continue
		}
		p.squares += volume * (v - p.Mean) * (v - p.Mean)
	}
	return p
}

// add adds the figures of other cells.
func (f *Figures) add(g *Figures) {
	f.Cells += g.Cells
	f.NaN += g.NaN
	f.Inf += g.Inf
	if g.Volume > 0 {
		all := f.Volume + g.Volume
		d := g.Mean - f.Mean
		f.squares += g.squares + d*d*(f.Volume/all)*g.Volume
		f.Mean += d * (g.Volume / all)
		f.Total += g.Total
		f.Volume = all
	}
	if !(f.Min <= g.Min) && !math.IsNaN(g.Min) {
		f.Min, f.MinAt = g.Min, g.MinAt
	}
	if !(f.Max >= g.Max) && !math.IsNaN(g.Max) {
		f.Max, f.MaxAt = g.Max, g.MaxAt
	}
}

func (f *Figures) finish() {
	if f.Volume > 0 {
		f.Mean, f.Std = f.Total/f.Volume, math.Sqrt(f.squares/f.Volume)
		return
	}
	f.Mean, f.Std = math.NaN(), math.NaN()
}
