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

// state is the current state of an array, in the geometry of one generation. Each rank has one segment in its memory.
type state struct {
	c     comm.Comm
	spec  *Spec // spec of the array; the shape of the state is in the field shape
	geo   geometry
	shape []int64
	win   comm.Window
	local []byte // this rank's segment, in whole chunks
}

// newState allocates zeroed memory for a generation. It is collective.
func newState(ctx context.Context, c comm.Comm, s *Spec, g geometry, shape []int64) (*state, error) {
	if err := g.check(s); err != nil {
		return nil, err
	}
	x := &state{c: c, spec: s, geo: g, shape: slices.Clone(shape)}
	n := (g.segLen(c.Rank()) + s.chunkElems() - 1) / s.chunkElems() // number of chunks
	x.local = make([]byte, n*int64(s.Chunk))
	var err error
	x.win, err = c.NewWindow(ctx, x.local)
	return x, err
}

// chunks returns the number of chunks of this rank's segment.
func (x *state) chunks() int { return len(x.local) / x.spec.Chunk }

// mine returns which of the first all elements of the array are in this rank's segment: the first one and the number.
func (x *state) mine(all int64) (first, n int64) {
	first = int64(x.c.Rank()) * x.geo.Seg
	return first, min(max(all-first, 0), x.geo.segLen(x.c.Rank()))
}

// overBox cuts a box into runs within single segments. It calls f for each run with the segment, the offset of the run in the
// segment in bytes, and the part of buf for this run.
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

// overRun does the same as overBox, for a run of n elements from element first on.
func (x *state) overRun(first, n int64, buf []byte, f func(seg int, off int64, b []byte) error) error {
	size := int64(x.spec.Type.Size())
	return x.geo.pieces(first, n, func(seg int, at, k, pos int64) error {
		b := buf[pos*size:]
		return f(seg, at*size, b[:k*size])
	})
}

// put stores elements from element first on. Any ranks may own them.
func (x *state) put(ctx context.Context, first int64, b []byte) error {
	return x.overRun(first, int64(len(b)/x.spec.Type.Size()), b, func(seg int, off int64, b []byte) error { return x.win.Put(ctx, seg, off, b) })
}

// copyFrom fills this rank's segment from another state. It copies only the first all elements of the array.
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
	if need < old { // elements beyond the end must stay zero
		x.clearFrom(need)
	}
	return x.win.Fence(ctx)
}

// clearFrom sets to zero the elements of this rank that are not among the first all elements of the array.
func (x *state) clearFrom(all int64) {
	_, n := x.mine(all)
	clear(x.local[n*int64(x.spec.Type.Size()):])
}

// stateSum returns the sum of a version: a hash of the sums of its segments in order.
func stateSum(segs [][]byte) string {
	h := xxh3.New()
	for _, s := range segs {
		_, _ = h.Write(s)
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// segSum returns the sum of a segment: a hash of the digests of its chunks in order.
func segSum(n int, at func(k int) digest) []byte {
	h := xxh3.New()
	for k := range n {
		d := at(k).Bytes()
		_, _ = h.Write(d[:])
	}
	sum := h.Sum128().Bytes()
	return sum[:]
}

// oldest sets f.From to the oldest version of the file's entries. If the tables are unreadable, From is unchanged.
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

// stateOf reports whether the digests in the tables give the sum of a version, so that all its chunks are the committed ones.
// It returns the files that have these chunks.
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

// changes finds the chunks of this rank's segment that differ from the generation's newest version.
type changes struct {
	chunk int // size of a chunk in bytes
	ranks int // number of ranks in the process, which share its cores

	sums []digest // digests of the chunks in the newest version
	has  []bool   // whether the newest version has the chunk; if not, the chunk is zeros
	zero digest   // digest of a chunk of zeros
}

// changeSet holds the chunks that one rank adds to a version, and their memory.
type changeSet struct {
	rank  int
	err   error // reason why the rank has no change set
	local []byte
	dirty []int64     // numbers of changed chunks, ascending
	sums  []digest    // digests of all chunks of the segment
	moved []fileEntry // chunks of older versions, to be copied from files that will be removed
}

// empty reports whether there is nothing to write.
func (s *changeSet) empty() bool { return len(s.dirty)+len(s.moved) == 0 }

// reset begins a new generation, in which the segment has the given number of chunks and no version has any of them.
func (d *changes) reset(chunks int) {
	d.sums, d.has = make([]digest, chunks), make([]bool, chunks)
	d.zero = hashChunk(make([]byte, d.chunk))
}

// forget makes the next version write all chunks that are not zeros. It is called when the newest version was dropped.
func (d *changes) forget() { clear(d.sums) }

// find finds the chunks that differ from the newest version. It skips chunks that have always been zeros.
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

// committed records that the version with these changes is now the newest.
func (d *changes) committed(s *changeSet) {
	d.sums = s.sums
	for _, k := range s.dirty {
		d.has[k] = true
	}
}

// hash computes the digests of chunks. It uses this rank's share of the process's cores.
func (d *changes) hash(sums []digest, local []byte) {
	const least = 1 << 20 // minimum number of bytes for a goroutine of its own
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
