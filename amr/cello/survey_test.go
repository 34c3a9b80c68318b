package cello

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"blobio/internal/amr"
)

func surveyed() *amr.Meta {
	m := &amr.Meta{Geometry: amr.Geometry{Rank: 2, Roots: [3]int{2, 2, 1}, Block: [3]int{4, 2, 1}, Ghost: [3]int{1, 1, 0}, Upper: [3]float64{1, 1, 1}}}
	m.Fields = []amr.FieldSpec{{Name: "density", Type: amr.Float64}, {Name: "velocity_x", Type: amr.Float32}, {Name: "dark_density", Type: amr.Float32}, {Name: "flag", Type: amr.Int32}}
	m.Particles = []amr.ParticleSpec{{Name: "dark", Attrs: []amr.AttrSpec{{Name: "x", Type: amr.Float64}, {Name: "mass", Type: amr.Float64}}}}
	return m
}

func doubles(v ...float64) (b []byte) {
	for _, x := range v {
		b = binary.NativeEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func singles(v ...float32) (b []byte) {
	for _, x := range v {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func told(s *survey) string {
	var l []string
	for _, o := range s.findings() {
		l = append(l, fmt.Sprintf("%s: %s", strings.TrimPrefix(o.Field, fieldPrefix), o.Msg))
	}
	return strings.Join(l, "\n")
}

// TestSurvey: a survey counts all implausible values and no others, and records the position of the
// first.
func TestSurvey(t *testing.T) {
	m := surveyed()
	nan, inf := math.NaN(), math.Inf(-1)
	x, y := amr.At(0, [3]int{0, 0, 0}), amr.At(0, [3]int{1, 1, 0})
	s := newSurvey(m)
	s.field(x, 0, false, 0, doubles(1, 2, 0, math.MaxFloat64, 5e-324, 6, 7, 8))
	s.field(x, 1, false, 0, singles(-1, -2, 3, 4, -math.MaxFloat32, 6, 7, 8))
	s.field(x, 3, false, 0, make([]byte, 32))
	s.positions(x, 0, 0, doubles(0, 0.5, -0.4, 0.9))
	s.positions(x, 0, 1, doubles(-1e9, nan))
	for range 5 {
		s.number(x, "dt", 0.5)
	}
	if got := told(s); got != "" {
		t.Errorf("nothing is wrong, but: %s", got)
	}
	s.field(y, 0, false, 0, doubles(1, nan, -1, 2))
	s.field(y, 0, false, 4, doubles(nan, inf, 3, -0.25)) // the second piece
	s.field(y, 2, false, 0, singles(-1, 1, 1, 1, 1, 1, 1, 1))
	s.positions(y, 0, 0, doubles(1e9, 0.7))
	s.number(y, "dt", 0.25)
	const want = `density: 2 of 16 values in leaves are not-a-number, the first in cell [1 0]
density: 1 of 16 values in leaves are infinite, the first in cell [1 1]
density: 2 of 16 values in leaves are negative, the first in cell [2 0]
dark_density: 1 of 8 values in leaves are negative, the first in cell [0 0]
dark: 1 particles in leaves are more than one block away from their block, the first x = 1e+09, the block is from 0.5 to 1
dt: 0.25 in 1 of 6 blocks, but 0.5 in 5`
	if got := told(s); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	// Merging surveys of the two halves gives the same result.
	a, b := newSurvey(m), newSurvey(m)
	a.field(x, 0, false, 0, doubles(1, nan, 1, 1, 1, 1, 1, 1))
	b.field(y, 0, false, 0, doubles(1, nan, nan, 1, 1, 1, 1, 1))
	a.number(x, "dt", 1)
	a.number(x, "dt", 1)
	b.number(y, "dt", 2)
	a.merge(b)
	if got := told(a); got != "density: 3 of 16 values in leaves are not-a-number, the first in cell [1 0]\ndt: 2 in 1 of 3 blocks, but 1 in 2" {
		t.Errorf("merged: %s", got)
	}
}

// TestSurveyGhosts: values in ghost zones give no finding, however a field is divided into pieces.
func TestSurveyGhosts(t *testing.T) {
	m := surveyed()
	shape := m.Shape(&m.Fields[0], true)
	v := make([]float64, shape[0]*shape[1])
	for i := range v {
		x, y := i%shape[0], i/shape[0]
		v[i] = math.NaN()
		if x >= 1 && x < 5 && y >= 1 && y < 3 {
			v[i] = float64(i)
		}
	}
	for piece := 1; piece <= len(v); piece++ {
		s := newSurvey(m)
		show := func() {
			for i := 0; i < len(v); i += piece {
				s.field(amr.At(0, [3]int{}), 0, true, int64(i), doubles(v[i:min(i+piece, len(v))]...))
			}
		}
		show()
		if got := told(s); got != "" {
			t.Fatalf("pieces of %d: %s", piece, got)
		}
		v[2*shape[0]+4] = -1
		show()
		if got := told(s); got != "density: 1 of 16 values in leaves are negative, the first in cell [3 1]" {
			t.Fatalf("pieces of %d: %s", piece, got)
		}
		v[2*shape[0]+4] = 1
	}
}

// TestSurveyBounded: numbers that differ in every block give no finding and need no memory.
func TestSurveyBounded(t *testing.T) {
	s := newSurvey(surveyed())
	for i := range 1000 {
		s.number(amr.At(0, [3]int{}), "dt", float64(i))
	}
	if got := told(s); got != "" || len(s.states[0].values) > maxSpread {
		t.Errorf("%d values, %s", len(s.states[0].values), got)
	}
}
