package read

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/dataset"
	"blobio/decomp"
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
)

// lazyMap is one decomposition map of the dataset, with all blobs of all subfiles. Maps.Cache holds the map when it is read.
type lazyMap struct {
	err  error       // why the map cannot be read; set while Maps.Cache makes the map
	once atomic.Bool // partOf has read a part of the map
}

// Maps are the decomposition maps of a dataset. A map is read when it is first needed.
type Maps struct {
	Files *Files
	Data  *Data
	Cache *cache.Cache[*lazyMap, *gotMap]
}

// newMaps returns the maps of a dataset. The cached maps take at most OpenOptions.Maps bytes.
func newMaps(f *Files, d *Data) *Maps {
	limit := f.Opt.Maps
	if limit == 0 {
		limit = math.MaxInt64
	}
	// If requests do not overlap, the index has one segment per request, so it is about as large as the map.
	return &Maps{f, d, cache.New[*lazyMap](limit, func(g *gotMap) int64 { return 2 * g.M.MemSize() })}
}

// gotMap is a map that has been read.
type gotMap struct {
	M     *decomp.Map
	lost  error // why the map lacks the ranks of some subfile; nil if it has all ranks
	index func() (*decomp.Index, error)
	cover func() (decomp.Coverage, error)
}

// Map is blob.Reader.Map.
func (r *Maps) Map(ctx context.Context, d dataset.DecompID) (*decomp.Map, error) {
	return r.in(ctx, r.Data.Sets[0], d)
}

// MapOf returns the map that applied when a record was written.
func (r *Maps) MapOf(ctx context.Context, d dataset.DecompID, rec int64) (*decomp.Map, error) {
	if rec < 0 || rec >= r.Data.Records {
		return nil, fault.Usage("%s: map of record %d, want %s", r.Files.Base, rec, fault.Below(r.Data.Records, "records"))
	}
	s, _ := r.Data.setAt(rec)
	return r.in(ctx, s, d)
}

func (r *Maps) in(ctx context.Context, s *Set, d dataset.DecompID) (*decomp.Map, error) {
	g, err := r.whole(ctx, s, d)
	if err != nil {
		return nil, err
	}
	return g.M, nil
}

// Coverage is blob.Reader.Coverage.
func (r *Maps) Coverage(ctx context.Context, d dataset.DecompID) (worst decomp.Coverage, err error) {
	for k, f := range r.Data.Families {
		g, err := r.whole(ctx, f.Home, d)
		if err != nil {
			return decomp.Coverage{}, err
		}
		c, err := g.cover()
		if err != nil {
			return decomp.Coverage{}, err
		}
		if k == 0 || c.Uncovered+c.Overlapped > worst.Uncovered+worst.Overlapped {
			worst = c
		}
	}
	return worst, nil
}

func (r *Maps) Index(ctx context.Context, s *Set, d dataset.DecompID) (*decomp.Index, error) {
	g, err := r.whole(ctx, s, d)
	if err != nil {
		return nil, err
	}
	return g.index()
}

// whole is like of, but returns an error if the map lacks ranks.
func (r *Maps) whole(ctx context.Context, s *Set, d dataset.DecompID) (*gotMap, error) {
	g, err := r.of(ctx, s, d)
	if err == nil {
		err = g.lost
	}
	return g, err
}

// of returns map d of a set. The map lacks the ranks of subfiles that could not be read, see gotMap.lost.
func (r *Maps) of(ctx context.Context, s *Set, d dataset.DecompID) (*gotMap, error) {
	if n := len(s.family.Maps); d < 1 || int(d) > n {
		return nil, fault.Usage("decomposition D%d, want D1..D%d", d, n)
	}
	l := &s.family.Maps[d-1]
	return r.Cache.Make(ctx, l, func() (*gotMap, error) {
		if l.err != nil {
			return nil, l.err
		}
		g, err := r.load(ctx, s.family.Home, int(d)-1, func([]decomp.Req) bool { return true })
		if err != nil && ctx.Err() == nil { // after a cancellation the next caller reads again
			l.err = err
		}
		return g, err
	})
}

// partFrom is the minimum number of requests of a map for partOf. Smaller maps are read and inverted in a few milliseconds.
const partFrom = 1 << 14

// partOf is like of, but the returned map needs only the ranks with elements in [lo, hi). The first read of a few elements may be
// read-ahead for a program that wants only the header. For a long map, partOf then returns a map of only these ranks, and does
// not cache it. It still reads all lists and compares their checksums, but saves the inversion of the map, which takes most of
// the time.
func (r *Maps) partOf(ctx context.Context, s *Set, d dataset.DecompID, lo, hi int64) (*gotMap, error) {
	l := &s.family.Maps[d-1]
	if _, there := r.Cache.Get(l); there || l.once.Load() || hi-lo > dataset.Product(r.Data.Schema.DecompDims(d))/8 {
		return r.of(ctx, s, d)
	}
	reqs := int64(0)
	for _, p := range s.family.Home.Parts {
		if p.Place != nil && p.Table != nil && len(p.Table.ID) > 0 {
			k := (len(p.Table.ID)-1)*p.Place.Header.Maps + int(d) - 1
			reqs += p.Table.Reqs[k] + p.Table.Nreqs[k]
		}
	}
	if reqs < partFrom || l.once.Swap(true) {
		return r.of(ctx, s, d)
	}
	return r.load(ctx, s.family.Home, int(d)-1, func(list []decomp.Req) bool {
		return slices.ContainsFunc(list, func(q decomp.Req) bool { return q.Offset < hi && q.Offset+q.Length > lo })
	})
}

// load reads map d (counted from 0) from the files of a set. It keeps the lists for which wanted returns true.
func (r *Maps) load(ctx context.Context, s *Set, d int, wanted func([]decomp.Req) bool) (*gotMap, error) {
	if err := s.LoadParts(ctx); err != nil {
		return nil, err
	}
	g := &gotMap{}
	for _, p := range s.Parts {
		if p.bad != nil && g.lost == nil {
			g.lost = p.bad
		}
	}
	without := map[*FilePart]bool{}
	for {
		b := decomp.NewBuilder(r.Data.Schema.DecompDims(dataset.DecompID(d+1)), s.blobs)
		p, err := r.build(ctx, b, s, d, without, wanted)
		if err == nil {
			if g.M, err = b.Map(); err != nil {
				return nil, err
			}
			break
		}
		if ctx.Err() != nil || len(without)+1 == len(s.Parts) {
			return nil, err
		}
		without[p] = true // start again without this subfile, because b has some of its ranks already
		if g.lost == nil {
			g.lost = err
		}
	}
	g.index = sync.OnceValues(g.M.Index)
	g.cover = sync.OnceValues(func() (decomp.Coverage, error) {
		ix, err := g.index()
		if err != nil {
			return decomp.Coverage{}, err
		}
		return ix.Coverage(), nil
	})
	return g, nil
}

// build reads map d of all subfiles that are not in without, and keeps the wanted lists. If it fails, it returns the subfile with
// the fault.
func (r *Maps) build(ctx context.Context, b *decomp.Builder, s *Set, d int, without map[*FilePart]bool, wanted func([]decomp.Req) bool) (*FilePart, error) {
	for _, p := range s.Parts {
		if p.Place == nil || without[p] {
			continue
		}
		if err := p.readRequests(ctx, d, func(j int, reqs []decomp.Req) error {
			if !wanted(reqs) {
				return nil
			}
			return b.Set(p.First+j, reqs)
		}); err != nil {
			return p, err
		}
	}
	return nil, nil
}

// lostIn returns an error if elements [lo, hi) are in an unreadable subfile of the set, or may be.
func (g *gotMap) lostIn(s *Set, lo, hi int64) error {
	if g.lost == nil && s.err == nil {
		return nil
	}
	ix, err := g.index()
	if err != nil {
		return err
	}
	at := lo
	for o := range ix.Range(lo, hi) {
		if o.Off > at && g.lost != nil {
			return g.lost
		}
		if p, _ := s.Owner(o.Rank); p.bad != nil {
			return p.bad
		}
		at = o.Off + o.Len
	}
	if at < hi && g.lost != nil {
		return g.lost
	}
	return nil
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
	nd, nb := p.Place.Header.Maps, p.Place.Shape.Blobs
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
