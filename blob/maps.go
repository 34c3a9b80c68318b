package blob

import (
	"context"
	"sync"

	"blobio/decomp"
)

// lazyMap is one decomposition map of the dataset, all blobs of all subfiles.
type lazyMap struct {
	mu    sync.Mutex // of the three below
	read  bool
	m     *decomp.Map
	err   error
	cover sync.Once
	c     decomp.Coverage
	ixOn  sync.Once
	ix    *decomp.Index
	ixErr error
}

// Map returns decomposition d of all ranks: blob j of subfile k is rank
// j + the blobs of all subfiles before. It is read once and kept.
func (r *Reader) Map(ctx context.Context, d DecompID) (*decomp.Map, error) {
	if d < 1 || int(d) > len(r.maps) {
		return nil, pkg.Usage("decomposition D%d, want D1..D%d", d, len(r.maps))
	}
	l := &r.maps[d-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		m, err := r.loadMap(ctx, int(d)-1)
		if err != nil && ctx.Err() != nil {
			return nil, err // of this caller only: the next one reads it
		}
		l.read, l.m, l.err = true, m, err
	}
	return l.m, l.err
}

// Coverage says how many elements of decomposition d no rank owns, or several do.
func (r *Reader) Coverage(ctx context.Context, d DecompID) (decomp.Coverage, error) {
	ix, err := r.mapIndex(ctx, d)
	if err != nil {
		return decomp.Coverage{}, err
	}
	l := &r.maps[d-1]
	l.cover.Do(func() { l.c = ix.Coverage() })
	return l.c, nil
}

func (r *Reader) mapIndex(ctx context.Context, d DecompID) (*decomp.Index, error) {
	m, err := r.Map(ctx, d)
	if err != nil {
		return nil, err
	}
	l := &r.maps[d-1]
	l.ixOn.Do(func() { l.ix, l.ixErr = m.Index() })
	return l.ix, l.ixErr
}

func (r *Reader) loadMap(ctx context.Context, d int) (*decomp.Map, error) {
	s := r.sets[0]
	if err := r.loadSet(ctx, s); err != nil {
		return nil, err
	}
	b := decomp.NewBuilder(r.schema.DecompDims(DecompID(d+1)), s.blobs)
	for _, p := range s.parts {
		if p.place == nil {
			continue
		}
		if err := p.readRequests(ctx, d, r.opt.Workers, func(j int, reqs []decomp.Req) error {
			return b.Set(p.first+j, reqs)
		}); err != nil {
			return nil, err
		}
	}
	return b.Map()
}
