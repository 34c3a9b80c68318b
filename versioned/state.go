package versioned

import (
	"context"
	"encoding/hex"
	"runtime"
	"slices"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// state is the current state of an array: the memory of the ranks, one segment each, of one generation.
type state struct {
	c     comm.Comm
	spec  *Spec // of the array; the state has a shape of its own
	geo   geometry
	shape []int64
	win   comm.Window
	local []byte // own segment, whole chunks
}

// newState gives a generation memory, zeros. It is collective.
func newState(ctx context.Context, c comm.Comm, s *Spec, g geometry, shape []int64) (*state, error) {
	if err := g.check(s); err != nil {
		return nil, err
	}
	x := &state{c: c, spec: s, geo: g, shape: slices.Clone(shape)}
	n := (g.segLen(c.Rank()) + s.chunkElems() - 1) / s.chunkElems() // chunks
	x.local = make([]byte, n*int64(s.Chunk))
	var err error
	x.win, err = c.NewWindow(ctx, x.local)
	return x, err
}

// chunks is the number of chunks of the own segment.
func (x *state) chunks() int { return len(x.local) / x.spec.Chunk }

// mine returns the part of the first all elements that lies in this rank's segment.
func (x *state) mine(all int64) (first, n int64) {
	first = int64(x.c.Rank()) * x.geo.Seg
	return first, min(max(all-first, 0), x.geo.segLen(x.c.Rank()))
}

// overBox cuts a box into runs of single segments; f gets the segment, the first byte in it, and the bytes of buf.
func (x *state) overBox(lo, hi []int64, buf []byte, f func(seg int, off int64, b []byte) error) error {
	size := int64(x.spec.Type.Size())
	if int64(len(buf))%size != 0 {
		return fault.Usage("array %s: buffer of %d bytes is not a multiple of the element size %d", x.spec.Name, len(buf), size)
	}
	if err := checkBox(x.spec.Name, x.shape, lo, hi, int64(len(buf))/size); err != nil {
		return err
	}
	return runs(x.shape, lo, hi, func(off, n, pos int64) error {
		return x.overRun(off, n, buf[pos*size:], f)
	})
}

// overRun is overBox of n elements from the first on.
func (x *state) overRun(first, n int64, buf []byte, f func(seg int, off int64, b []byte) error) error {
	size := int64(x.spec.Type.Size())
	return x.geo.pieces(first, n, func(seg int, at, k, pos int64) error {
		b := buf[pos*size:]
		return f(seg, at*size, b[:k*size])
	})
}

// put stores elements from the first on, whoever has them.
func (x *state) put(ctx context.Context, first int64, b []byte) error {
	return x.overRun(first, int64(len(b)/x.spec.Type.Size()), b, func(seg int, off int64, b []byte) error { return x.win.Put(ctx, seg, off, b) })
}

// copyFrom fills the own segment from another state, elements up to all.
func (x *state) copyFrom(ctx context.Context, from *state, all int64) error {
	first, n := x.mine(all)
	if n == 0 {
		return nil
	}
	return from.overRun(first, n, x.local, func(seg int, off int64, b []byte) error { return from.win.Get(ctx, seg, off, b) })
}

// reshape changes the shape within the capacity. It is collective.
func (x *state) reshape(ctx context.Context, shape []int64) error {
	need, old := elems(shape), elems(x.shape)
	x.shape = slices.Clone(shape)
	if need < old { // elements beyond the end stay zeros
		x.clearFrom(need)
	}
	return x.win.Fence(ctx)
}

// clearFrom makes zeros of the own elements from that one of the array on.
func (x *state) clearFrom(all int64) {
	_, n := x.mine(all)
	clear(x.local[n*int64(x.spec.Type.Size()):])
}

// stateSum is the sum of a version, made of the sums of its segments in their order.
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

// stateOf reports whether the chunks of a version, as the tables have them, are those that were committed, and which files have them.
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

// changes finds which chunks of the own segment the newest version of the generation does not have.
type changes struct {
	chunk int // bytes
	ranks int // of the process, which share its cores

	sums []digest // of the chunks in that version
	has  []bool   // whether it has the chunk; others are zeros
	zero digest   // of a chunk of zeros
}

// changeSet has the chunks that one rank adds to a version, and where they lie in its memory.
type changeSet struct {
	rank  int
	err   error // why the rank has none
	local []byte
	dirty []int64     // chunks, ascending
	sums  []digest    // of all chunks of the segment
	moved []fileEntry // chunks of older versions that are written again, out of files that are to go
}

// empty reports whether nothing is to be written.
func (s *changeSet) empty() bool { return len(s.dirty)+len(s.moved) == 0 }

// reset begins a generation with segments of that many chunks; no version has any of them yet.
func (d *changes) reset(chunks int) {
	d.sums, d.has = make([]digest, chunks), make([]bool, chunks)
	d.zero = hashChunk(make([]byte, d.chunk))
}

// forget makes the next version write all chunks that any version had: the newest one is no longer there.
func (d *changes) forget() { clear(d.sums) }

// find finds the chunks that the newest version does not have. Chunks of zeros that never were
// anything else are not kept at all.
func (d *changes) find(rank int, local []byte) *changeSet {
	s := &changeSet{rank: rank, local: local, sums: make([]digest, len(d.sums))}
	d.hash(s.sums, local)
	for k, sum := range s.sums {
		if d.has[k] && sum == d.sums[k] || !d.has[k] && sum == d.zero {
			continue
		}
		s.dirty = append(s.dirty, int64(k))
	}
	return s
}

// committed makes the version of a change set the newest one.
func (d *changes) committed(s *changeSet) {
	d.sums = s.sums
	for _, k := range s.dirty {
		d.has[k] = true
	}
}

// hash computes the digests of chunks, on as many cores as there are for each rank of the process.
func (d *changes) hash(sums []digest, local []byte) {
	const least = 1 << 20 // bytes that are worth a goroutine
	size := d.chunk
	some := func(lo, hi int) {
		for k := lo; k < hi; k++ {
			sums[k] = hashChunk(local[k*size : (k+1)*size])
		}
	}
	workers := min(runtime.GOMAXPROCS(0)/max(d.ranks, 1), len(local)/least)
	if workers < 2 {
		some(0, len(sums))
		return
	}
	par.Do(workers, workers, func(w int) { some(len(sums)*w/workers, len(sums)*(w+1)/workers) })
}
