package read

import (
	"context"
	"slices"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// StoredHeader is blob.Reader.StoredHeader.
func (r *Data) StoredHeader(f File) (*cdf5.Header, error) {
	p, err := r.storedPart(f)
	if err != nil {
		return nil, err
	}
	if err := p.Load(); err != nil {
		return nil, err
	}
	h := *p.header().Header
	if h.NumRecs == cdf5.Streaming {
		h.NumRecs = p.Records
	}
	return &h, nil
}

// StoredMap is blob.Reader.StoredMap.
func (r *Maps) StoredMap(ctx context.Context, f File, d dataset.DecompID) (start, count []int64, lists [][]decomp.Req, err error) {
	p, err := r.Data.storedPart(f)
	if err != nil {
		return nil, nil, nil, err
	}
	if d < 1 || int(d) > r.Data.Schema.NumDecomps() {
		return nil, nil, nil, fault.Usage("decomposition D%d, want D1..D%d", d, r.Data.Schema.NumDecomps())
	}
	if err := r.Data.Sets[f.Set].LoadParts(ctx); err != nil {
		return nil, nil, nil, err
	}
	if p.bad != nil {
		return nil, nil, nil, p.bad
	}
	nd, nb := p.Place.NumMaps(), p.Place.Shape.Blobs
	for j := range nb {
		start, count = append(start, p.Table.Start[j*nd+int(d)-1]), append(count, p.Table.Count[j*nd+int(d)-1])
	}
	lists = make([][]decomp.Req, nb)
	err = p.readRequests(ctx, int(d)-1, func(j int, reqs []decomp.Req) error {
		lists[j] = slices.Clone(reqs)
		return nil
	})
	return start, count, lists, err
}

// storedPart is a file of the dataset that is there.
func (r *Data) storedPart(f File) (*FilePart, error) {
	for k, s := range r.Sets {
		for _, p := range s.Parts {
			if k != f.Set || p.Index != f.Index {
				continue
			}
			if p.Gone() {
				return nil, fault.In(p.Wanted(), "subfile", dataset.ErrMissing, "not there")
			}
			return p, nil
		}
	}
	return nil, fault.Usage("%s has no subfile %d in set %d", r.Files.Base, f.Index, f.Set)
}
