package versioned

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// piece is one rank's part of a version, in the form that Levels stores in a dataset.
type piece struct {
	Name    string
	Type    string
	Shape   []int64 // shape of the version
	Chunk   int
	Extra   float64
	Every   bool // the setting Spec.EveryRegrid
	Keep    Retention
	Version int64
	Label   string
	Order   string // byte order of Data: little or big
	First   int64  // number of the first element
	Data    []byte `json:"-"`
}

// piece reads this rank's part of a version. The pieces of all ranks together are the whole version. piece is not collective.
func (a *Array) piece(ctx context.Context, version int64) (*piece, error) {
	if a.broken != nil {
		return nil, a.broken
	}
	rec := a.cat.record()
	v, err := rec.find(version)
	if err != nil {
		return nil, err
	}
	s := rec.Spec
	p := &piece{Name: s.Name, Type: s.Type, Shape: slices.Clone(v.Shape), Chunk: s.Chunk, Extra: s.Extra, Every: s.Every, Keep: s.Keep,
		Version: version, Label: v.Label, Order: hostOrder()}
	g, _ := rec.generation(v.Generation)
	// If the version was written by another number of ranks, divide it among the present ranks.
	all := elems(v.Shape)
	n := int64(a.c.Size())
	if g.Segs == a.c.Size() {
		p.First = min(int64(a.c.Rank())*g.Seg, all)
		n = min(all-p.First, g.segLen(a.c.Rank()))
	} else {
		p.First = all / n * int64(a.c.Rank())
		if n = all / n; a.c.Rank() == a.c.Size()-1 {
			n = all - p.First
		}
	}
	p.Data = make([]byte, n*a.cat.size)
	if n == 0 {
		return p, nil
	}
	return p, a.cat.read(ctx, rec, v, p.First, n, p.Data)
}

// createFrom makes an array with version 0 and one other version, whose pieces are given. All ranks together must pass all
// pieces, in any order. It is collective. The store must not have an array of the same name.
func createFrom(ctx context.Context, c comm.Comm, st *Store, pieces []*piece, o *Options) (*Array, error) {
	var mine []byte
	var err error
	if len(pieces) > 0 {
		mine, err = json.Marshal(pieces)
	}
	var lens []int64
	for _, p := range pieces {
		lens = append(lens, int64(len(p.Data)))
	}
	all, gerr := c.Allgather(ctx, append(bytesOf(append([]int64{int64(len(lens))}, lens...)), mine...))
	if gerr != nil {
		return nil, gerr
	}
	var s Spec
	var first *piece
	if err == nil {
		first, s, err = wholeOf(all)
	}
	if err == nil {
		for _, p := range pieces {
			if p.Order == "big" != elem.HostBig {
				elem.Swap(p.Data, p.Data, s.Type.Size())
			}
		}
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	a, err := Create(ctx, c, st, s, o)
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		if err == nil {
			err = a.state.put(ctx, p.First, p.Data)
		}
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if first.Version > 0 {
		if _, err := a.Inc(ctx, first.Version, first.Label); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// wholeOf checks that the pieces of all ranks form one complete version, with each element once.
func wholeOf(all [][]byte) (*piece, Spec, error) {
	type sized struct {
		*piece
		bytes int64 // of Data
	}
	var ps []sized
	for _, b := range all {
		n := elem.View[int64](b[:8])[0]
		if n == 0 {
			continue
		}
		var v []*piece
		if err := json.Unmarshal(b[8+8*n:], &v); err != nil || int64(len(v)) != n {
			return nil, Spec{}, fault.At("", -1, "piece", ErrCorrupt, "%d pieces: %v", n, err)
		}
		for i, p := range v {
			ps = append(ps, sized{p, elem.View[int64](b[8+8*i:])[0]})
		}
	}
	if len(ps) == 0 {
		return nil, Spec{}, fmt.Errorf("no pieces: %w", ErrMissing)
	}
	p := ps[0].piece
	t, err := parseType(p.Type)
	if err != nil {
		return nil, Spec{}, err
	}
	s := Spec{Name: p.Name, Type: t, Shape: p.Shape, Chunk: p.Chunk, Extra: p.Extra, EveryRegrid: p.Every, Keep: p.Keep}
	if err := s.Validate(); err != nil {
		return nil, Spec{}, err
	}
	slices.SortFunc(ps, func(x, y sized) int { return cmp.Or(cmp.Compare(x.First, y.First), cmp.Compare(x.bytes, y.bytes)) })
	at := int64(0)
	for _, q := range ps {
		n := q.bytes / int64(t.Size())
		if q.Name != p.Name || q.Type != p.Type || q.Version != p.Version || q.Label != p.Label || !slices.Equal(q.Shape, p.Shape) || q.bytes%int64(t.Size()) != 0 {
			return nil, Spec{}, fault.At(p.Name, -1, "piece", ErrCorrupt, "version %d of %s among the pieces of version %d", q.Version, q.Name, p.Version)
		}
		if n == 0 {
			continue
		}
		if q.First != at {
			return nil, Spec{}, fmt.Errorf("array %s: version %d: a piece begins at element %d, want a piece that begins at %d: %w", p.Name, p.Version, q.First, at, ErrMissing)
		}
		at += n
	}
	if at != elems(p.Shape) {
		return nil, Spec{}, fmt.Errorf("array %s: version %d: the pieces have %d elements together, want %d: %w", p.Name, p.Version, at, elems(p.Shape), ErrMissing)
	}
	return p, s, nil
}
