package versioned

import (
	"runtime"

	"blobio/internal/base/par"
)

// changes finds which chunks of the own segment the newest version of the generation does not have.
type changes struct {
	chunk int // bytes
	ranks int // of the process, which share its cores

	sums []digest // of the chunks in that version
	has  []bool   // whether it has the chunk; others are zeros
	zero digest   // of a chunk of zeros
}

// changeSet is what one rank has for a version: which chunks, and where they lie in its memory.
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

// reset begins a generation, of a segment of that many chunks, of which no version has any.
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
