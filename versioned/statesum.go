package versioned

import (
	"context"
	"encoding/hex"

	"github.com/zeebo/xxh3"
)

// stateSum is the sum of a version: of those of its segments, in their order.
func stateSum(segs [][]byte) string {
	h := xxh3.New()
	for _, s := range segs {
		_, _ = h.Write(s)
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// segSum is the sum of a segment: of the digests of its chunks, in their order.
func segSum(n int, at func(k int) digest) []byte {
	h := xxh3.New()
	for k := range n {
		d := at(k).Bytes()
		_, _ = h.Write(d[:])
	}
	sum := h.Sum128().Bytes()
	return sum[:]
}

// oldest finds the oldest version that an entry of a file is of; of one whose tables cannot be read it stays unknown.
func (c *catalog) oldest(ctx context.Context, f *fileInfo) error {
	g, _ := c.record().generation(f.Gen)
	from := f.Born
	for _, seg := range f.Segs {
		es, err := c.table(ctx, f, seg, g.Seg*c.size/c.chunk)
		if err != nil {
			return ctx.Err()
		}
		for _, e := range es {
			from = min(from, e.since)
		}
	}
	f.From = from
	return nil
}

// stateOf says whether the chunks of a version, as the tables have them, are those that were committed, and which files have them.
func (c *catalog) stateOf(ctx context.Context, g *geometry, v *verInfo) (files map[string]bool, ok bool, err error) {
	files = map[string]bool{}
	zero := hashChunk(make([]byte, c.chunk))
	segs := make([][]byte, g.Segs)
	for seg := range segs {
		x, err := c.index(ctx, g, seg)
		if err != nil {
			return nil, false, err
		}
		segs[seg] = segSum(int((g.segLen(seg)*c.size+c.chunk-1)/c.chunk), func(k int) digest {
			p, there := x.find(int64(k), v.Number)
			if !there {
				return zero
			}
			files[c.files[p.file].Name] = true
			return p.sum
		})
	}
	// Version 0 is zeros, and has no sum.
	return files, v.Sum == stateSum(segs) || v.Number == 0 && len(files) == 0, nil
}
