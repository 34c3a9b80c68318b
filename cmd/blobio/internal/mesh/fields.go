package mesh

import (
	"context"
	"math"
	"strconv"
	"strings"

	"blobio/internal/amr/grids"
	"blobio/internal/cli"
)

// fieldMesh is a mesh for verbs that read its values.
type fieldMesh struct {
	*grids.Mesh
	of    *amrMesh
	path  string
	close func() error
}

// openFields opens a checkpoint.
func openFields(ctx context.Context, e *cli.Env, path, what string, t amrTrust) (*fieldMesh, error) {
	a, err := openAmr(ctx, path, t)
	if err != nil {
		return nil, err
	}
	leaf := make([]bool, len(a.Blocks()))
	for i := range leaf {
		leaf[i] = a.Blocks()[i].Leaf
	}
	m, err := grids.OfBlocks(a.Meta(), a.indexes(), leaf, a.Block)
	if err != nil {
		a.Close()
		return nil, err
	}
	a.warn(e, what, t)
	return &fieldMesh{m, a, a.path, a.Close}, nil
}

// fields returns the indices of the named fields; no names mean all.
func (m *fieldMesh) fields(names []string) (out []int, err error) {
	if len(names) == 0 {
		for i := range m.Fields {
			out = append(out, i)
		}
		return out, nil
	}
	for _, n := range names {
		i := m.Field(n)
		if i < 0 {
			return nil, cli.Usagef("%s has no field %q, the fields are %s", m.path, n, orNone(namesOf(m.Fields, func(f grids.Field) string { return cli.Plain(f.Name) })))
		}
		out = append(out, i)
	}
	return out, nil
}

// region parses LO:HI,LO:HI,..., one for each axis; "" is the whole domain.
func (m *fieldMesh) region(s string) (lo, hi [3]float64, err error) {
	lo, hi = m.Lower, m.Upper
	if s == "" {
		return lo, hi, nil
	}
	parts := strings.Split(s, ",")
	bad := cli.Usagef("--region %q, want %s LO:HI, such as %s", s, cli.Plural(m.Rank, "range"), strings.Join([]string{"0.2:0.4", ":0.5", ":"}[:m.Rank], ","))
	if len(parts) != m.Rank {
		return lo, hi, bad
	}
	for a, part := range parts {
		x, y, ok := strings.Cut(part, ":")
		if !ok {
			return lo, hi, bad
		}
		for _, end := range []struct {
			word string
			to   *float64
		}{{x, &lo[a]}, {y, &hi[a]}} {
			if end.word == "" {
				continue
			}
			v, err := strconv.ParseFloat(end.word, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return lo, hi, bad
			}
			*end.to = v
		}
		if lo[a] >= hi[a] || hi[a] <= m.Lower[a] || lo[a] >= m.Upper[a] {
			return lo, hi, cli.Usagef("--region: range %g to %g on axis %s is outside of the domain from %g to %g", lo[a], hi[a], "xyz"[a:a+1], m.Lower[a], m.Upper[a])
		}
		lo[a], hi[a] = max(lo[a], m.Lower[a]), min(hi[a], m.Upper[a])
	}
	return lo, hi, nil
}
