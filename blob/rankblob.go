package blob

import (
	"blobio/internal/fault"
	"context"
)

// RankBlob reads what one rank wrote of one record of a decomposed variable: the
// blob that Blobs would give as number rank, without reading the others.
func (r *Reader) RankBlob(ctx context.Context, name string, rec int64, rank int) (Blob, error) {
	r = r.now()
	v, ok := r.schema.VarID(name)
	if !ok || r.schema.vars[v].Decomp == 0 {
		return Blob{}, fault.Usage("%s: no decomposed variable %q", r.base, name)
	}
	sv := &r.schema.vars[v]
	if rec < 0 || sv.Record && rec >= r.records || !sv.Record && rec != 0 {
		return Blob{}, fault.Usage("%s: blob of %q: record %d, want 0..%d", r.base, name, rec, max(r.records-1, 0))
	}
	if err := ctx.Err(); err != nil {
		return Blob{}, err
	}
	s, srec := r.setOf(v, rec)
	m, err := r.mapIn(ctx, s, sv.Decomp)
	if err != nil {
		return Blob{}, err
	}
	if err := r.loadSet(ctx, s); err != nil {
		return Blob{}, err
	}
	id, err := s.variable(v, sv)
	if err != nil {
		return Blob{}, err
	}
	for _, p := range s.parts {
		if p.place != nil && rank >= p.first && rank < p.first+p.place.Shape.Blobs {
			return p.blob(ctx, s, m, id, sv, srec, rank-p.first, hostForm)
		}
	}
	if rank >= 0 && rank < m.Ranks() {
		return Blob{}, fault.At(r.base, -1, "", ErrMissing, "the subfile of rank %d is not here", rank)
	}
	return Blob{}, fault.Usage("%s: blob of rank %d, want 0..%d", r.base, rank, m.Ranks()-1)
}
