package gen

import (
	"fmt"

	"blobio/internal/amr"
)

// Case is a set with a name.
type Case struct {
	Name string
	Set  *Set
}

// Fields returns n fields of one type: "density", "velocity_x", ...
func Fields(n int, t amr.Type) []amr.FieldSpec {
	names := []string{"density", "velocity_x", "velocity_y", "velocity_z", "total_energy", "internal_energy", "pressure", "potential"}
	out := make([]amr.FieldSpec, n)
	for i := range out {
		out[i] = amr.FieldSpec{Name: fmt.Sprintf("field_%d", i), Type: t}
		if i < len(names) {
			out[i].Name = names[i]
		}
	}
	return out
}

// AllTypes returns one field of each type.
func AllTypes() []amr.FieldSpec {
	var out []amr.FieldSpec
	for t := amr.Float32; t <= amr.Int64; t++ {
		out = append(out, amr.FieldSpec{Name: "of_" + t.String(), Type: t})
	}
	return out
}

// FaceFields returns a cell-centred field and one that is face-centred on each
// axis.
func FaceFields(rank int, t amr.Type) []amr.FieldSpec {
	out := []amr.FieldSpec{{Name: "density", Type: t}}
	for i := range rank {
		f := amr.FieldSpec{Name: "bfield_" + "xyz"[i:i+1], Type: t}
		f.Centered[i] = true
		out = append(out, f)
	}
	return out
}

// Tracers returns two types of particles. Their attributes are positions, and ids of all widths.
func Tracers(rank int) []amr.ParticleSpec {
	trace := amr.ParticleSpec{Name: "trace"}
	dark := amr.ParticleSpec{Name: "dark"}
	for i := range rank {
		trace.Attrs = append(trace.Attrs, amr.AttrSpec{Name: "xyz"[i : i+1], Type: amr.Float64})
		dark.Attrs = append(dark.Attrs, amr.AttrSpec{Name: "xyz"[i : i+1], Type: amr.Float32})
	}
	trace.Attrs = append(trace.Attrs, amr.AttrSpec{Name: "id", Type: amr.Int64})
	dark.Attrs = append(dark.Attrs, amr.AttrSpec{Name: "mass", Type: amr.Float64}, amr.AttrSpec{Name: "kind", Type: amr.Int8}, amr.AttrSpec{Name: "tag", Type: amr.Int32})
	return []amr.ParticleSpec{trace, dark}
}

// Cases returns small sets that differ in every property that a format must preserve.
func Cases(seed uint64) ([]Case, error) {
	var out []Case
	var failed error
	add := func(name string, t *amr.Tree, err error, fields []amr.FieldSpec, particles []amr.ParticleSpec, ghosts bool) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("case %s: %w", name, err)
		}
		if err != nil {
			return
		}
		s := NewSet(t, seed, fields, particles)
		s.Ghosts = ghosts
		if err := s.Meta.Validate(); err != nil && failed == nil {
			failed = fmt.Errorf("case %s: %w", name, err)
		}
		out = append(out, Case{name, s})
	}

	g := Geometry(1, 4, 8, 3, 3)
	t, err := Random(&g, seed, 30)
	add("1d", t, err, AllTypes(), nil, false)

	g = Geometry(2, 4, 8, 4, 2)
	g.Periodic = [3]bool{true, true, false}
	t, err = Shock(&g, 0.5)
	add("2d-shock", t, err, Fields(4, amr.Float64), nil, false)

	g = Geometry(2, 1, 4, 2, 4)
	t, err = Random(&g, seed, 60)
	add("2d-one-root", t, err, FaceFields(2, amr.Float32), Tracers(2), true)

	g = Geometry(2, 2, 4, 3, 1)
	g.Roots, g.Block, g.Upper = [3]int{4, 2, 1}, [3]int{8, 4, 1}, [3]float64{2, 1, 1}
	g.MinLevel = Top(g.Roots)
	t, err = Sphere(&g, [3]float64{0.3, 0.3, 0}, 0.2)
	add("2d-oblong", t, err, Fields(2, amr.Float64), nil, true)

	g = Geometry(3, 2, 4, 3, 2)
	g.Periodic = [3]bool{true, true, true}
	t, err = Random(&g, seed, 100)
	add("3d", t, err, AllTypes(), Tracers(3), false)

	g = Geometry(3, 2, 4, 1, 2)
	g.Block, g.Ghost = [3]int{4, 6, 2}, [3]int{1, 2, 3}
	t, err = Sphere(&g, [3]float64{0.5, 0.5, 0.5}, 0.1)
	add("3d-bricks", t, err, FaceFields(3, amr.Float64), Tracers(3), true)

	g = Geometry(3, 2, 2, 0, 0)
	g.MinLevel = 0
	t, err = Uniform(&g, 0)
	add("3d-unigrid", t, err, Fields(1, amr.Float32), nil, false)

	g = Geometry(3, 1, 4, 0, 0)
	t, err = Uniform(&g, 0)
	add("3d-one-block", t, err, Fields(1, amr.Int32), Tracers(3), false)
	return out, failed
}
