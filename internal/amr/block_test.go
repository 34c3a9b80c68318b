package amr_test

import (
	"errors"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/gen"
	"blobio/internal/base/fault"
)

func TestMetaBad(t *testing.T) {
	for what, spoil := range map[string]func(m *amr.Meta){
		"":                 func(*amr.Meta) {},
		"rank":             func(m *amr.Meta) { m.Rank = 0 },
		"files":            func(m *amr.Meta) { m.Files = -1 },
		"no name":          func(m *amr.Meta) { m.Fields[0].Name = "" },
		"two fields":       func(m *amr.Meta) { m.Fields[1].Name = m.Fields[0].Name },
		"type":             func(m *amr.Meta) { m.Fields[0].Type = 99 },
		"faces of z":       func(m *amr.Meta) { m.Fields[0].Centered[2] = true },
		"two kinds":        func(m *amr.Meta) { m.Particles[1].Name = m.Particles[0].Name },
		"two attributes":   func(m *amr.Meta) { m.Particles[0].Attrs[1].Name = m.Particles[0].Attrs[0].Name },
		"attribute's type": func(m *amr.Meta) { m.Particles[0].Attrs[1].Type = 0 },
	} {
		m := &amr.Meta{Geometry: gen.Geometry(2, 4, 8, 3, 2), Fields: gen.Fields(2, amr.Float32), Particles: gen.Tracers(2)}
		spoil(m)
		if err := m.Validate(); errors.Is(err, fault.ErrUsage) != (what != "") {
			t.Errorf("%q: %v", what, err)
		}
	}
}
