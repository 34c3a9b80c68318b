package redset

import (
	"context"
	"encoding/json"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// discover finds the position of each rank in its redundancy set, from the rank's own files or from files of other members of the set.
func discover(ctx context.Context, c comm.Comm, fsys vfs.FS, prefix string) (position, []found, error) {
	all, err := list(fsys, prefix)
	known := map[int]position{} // positions by world rank
	own := false
	if err == nil {
		known, own = places(fsys, prefix, all, c.Rank())
		for _, p := range known {
			if p.worlds != c.Size() {
				err = fault.Usage("the files belong to %d ranks, but the Comm has %d", p.worlds, c.Size())
			}
		}
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return position{}, nil, err
	}
	send := make([][]byte, c.Size())
	for w, p := range known {
		if w >= 0 && w < c.Size() {
			send[w] = p.pack()
		}
	}
	got, err := c.Alltoallv(ctx, send)
	if err != nil {
		return position{}, nil, err
	}
	p, ok := known[c.Rank()], own
	for _, b := range got {
		if !ok && len(b) > 0 {
			p, ok = unpackPlace(b)
		}
	}
	flags := []int64{0, int64(c.Rank()), 0} // 1 if any rank knows its position; the last rank that does not; the number of ranks that do not
	if ok {
		flags = []int64{1, -1, 0}
	}
	if flags, err = c.AllreduceInt64(ctx, flags, comm.Max); err != nil {
		return position{}, nil, err
	}
	switch {
	case flags[0] == 0:
		return p, nil, fmt.Errorf("%s: %w", prefix, ErrNone)
	case flags[1] >= 0:
		return p, nil, &LostError{Set: -1, Ranks: []int{int(flags[1])}, Detail: "neither this rank nor any member of its set has a redundancy file"}
	}
	return p, all, nil
}

// places returns the positions that the redundancy files of a rank contain, by world rank. The second result is true if the rank's own
// position is among them.
func places(fsys vfs.FS, prefix string, all []found, rank int) (map[int]position, bool) {
	known := map[int]position{}
	if v, err := readPlaces(fsys, (&position{world: rank}).descName(prefix)); err == nil {
		known = v
	}
	for _, f := range all {
		if f.gen == GenC && f.world != rank {
			continue
		}
		h, err := readHeader(fsys, f)
		if err != nil || h.world != rank {
			continue
		}
		if p, ok := known[rank]; ok && (p.set != h.set || p.scheme != h.scheme) {
			continue // the file is from an older encode
		}
		for _, d := range h.descs {
			known[d.world] = d.position
		}
		for m, w := range h.group {
			if _, ok := known[w]; !ok {
				p := h.position
				p.rank, p.world = m, w
				known[w] = p
			}
		}
	}
	_, own := known[rank]
	return known, own
}

// wirePlace is a position as it is sent to other ranks.
type wirePlace struct{ Gen, Scheme, K, Set, Sets, Rank, N, World, Worlds int }

func (p *position) pack() []byte {
	b, _ := json.Marshal(wirePlace{int(p.gen), int(p.scheme), p.k, p.set, p.sets, p.rank, p.n, p.world, p.worlds})
	return b
}

func unpackPlace(b []byte) (position, bool) {
	var w wirePlace
	err := json.Unmarshal(b, &w)
	return position{Generation(w.Gen), Scheme(w.Scheme), w.K, w.Set, w.Sets, w.Rank, w.N, w.World, w.Worlds}, err == nil
}
