package blob

import (
	"context"
	"slices"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// StoredHeader returns the header of a file of the dataset (see Files) as it is stored: in blob layouts with the map variables, the dimensions of blobs
// and what the layout adds to attributes. It must not be changed.
func (r *Reader) StoredHeader(f File) (*cdf5.Header, error) {
	r = r.now()
	p, err := r.storedPart(f)
	if err != nil {
		return nil, err
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	h := *p.header().Header
	if h.NumRecs == cdf5.Streaming {
		h.NumRecs = p.records
	}
	return &h, nil
}

// StoredMap returns what a file of the dataset (see Files) holds of decomposition d, by blob: Dk.blob_start, Dk.blob_count and the requests, which are
// Dk.offsets and Dk.lengths and as many as Dk.nreqs says. Datasets that are not of blobs have no decompositions.
func (r *Reader) StoredMap(ctx context.Context, f File, d DecompID) (start, count []int64, lists [][]decomp.Req, err error) {
	r = r.now()
	p, err := r.storedPart(f)
	if err != nil {
		return nil, nil, nil, err
	}
	if d < 1 || int(d) > r.schema.NumDecomps() {
		return nil, nil, nil, fault.Usage("decomposition D%d, want D1..D%d", d, r.schema.NumDecomps())
	}
	if err := r.loadParts(ctx, r.sets[f.Set]); err != nil {
		return nil, nil, nil, err
	}
	if p.bad != nil {
		return nil, nil, nil, p.bad
	}
	nd, nb := p.place.NumMaps(), p.place.Shape.Blobs
	for j := range nb {
		start, count = append(start, p.table.Start[j*nd+int(d)-1]), append(count, p.table.Count[j*nd+int(d)-1])
	}
	lists = make([][]decomp.Req, nb)
	err = p.readRequests(ctx, int(d)-1, func(j int, reqs []decomp.Req) error {
		lists[j] = slices.Clone(reqs)
		return nil
	})
	return start, count, lists, err
}

// storedPart is a file of the dataset that is there.
func (r *Reader) storedPart(f File) (*filePart, error) {
	for k, s := range r.sets {
		for _, p := range s.parts {
			if k != f.Set || p.index != f.Index {
				continue
			}
			if p.gone() {
				return nil, fault.In(p.wanted(), "subfile", ErrMissing, "not there")
			}
			return p, nil
		}
	}
	return nil, fault.Usage("%s has no subfile %d in set %d", r.base, f.Index, f.Set)
}
