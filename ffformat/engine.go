package ffformat

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

const (
	// pieceSize is the number of bytes read and hashed at once. It is small enough to stay in the cache between the two steps.
	pieceSize = 256 << 10
	// segmentSize is the number of bytes of a Fast chunk that one worker takes.
	segmentSize = 4 << 20
)

// chunkJob is a chunk to be read and hashed.
type chunkJob struct {
	c   place
	dst []byte // destination of the bytes; nil: only hash

	// want, if not nil, holds the XXH3-128 digests of the chunk's blocks of bs bytes. They come from a side file. The chunk is
	// compared with them instead of the record's hash.
	want []byte
	bs   int64
}

// with returns the job with the chunk's block digests from d, if d has them.
func (j chunkJob) with(d *Digests) chunkJob {
	if k := d.chunk(j.c.Container); k.size == j.c.ChunkSize && k.hash == j.c.Hash {
		j.want, j.bs = k.blocks, int64(d.BlockSize)
	}
	return j
}

type chunkResult struct {
	hash digest
	err  error // read error
}

// segment is a part of a chunk for one worker.
type segment struct {
	job    int
	off, n int64
}

// blockState is the state of a chunk whose blocks several workers hash.
type blockState struct {
	once    sync.Once
	digests []byte       // for a Fast file: the digests of all blocks of the chunk
	left    atomic.Int64 // number of segments still to be hashed
	failed  sync.Mutex   // guards errAt and the result's err
	errAt   int64        // lowest offset of a failure
}

// hashing is the state of one call of hashChunks.
type hashing struct {
	r    *Reader
	jobs []chunkJob
	segs []segment
	fast []blockState
	res  []chunkResult

	md5s  md5Server
	lanes bool // hash several chunks in the SIMD lanes of one processor
}

// hashChunks reads and hashes chunks on several workers and waits for them. It returns an error only if ctx ends.
func (r *Reader) hashChunks(ctx context.Context, jobs []chunkJob, workers int) ([]chunkResult, error) {
	h := &hashing{r: r, jobs: jobs, res: make([]chunkResult, len(jobs))}
	h.cut()
	workers = min(par.Workers(workers), len(h.segs))
	defer h.md5s.close()
	var whole int
	var total int64
	for i := range jobs {
		if h.whole(&jobs[i]) {
			whole++
			total += jobs[i].c.ChunkSize
		}
	}
	if whole > 0 {
		var at int
		at, h.lanes = streams(whole, total, h.segs[0].n, workers)
		workers = max(workers, at)
	}
	_ = par.Crew(ctx, workers, len(h.segs), h.work)
	return h.res, ctx.Err()
}

// cut divides the chunks into segments. Chunks that need one hash over all bytes come first, in order of decreasing length, so
// that no worker starts a long chunk at the end.
func (h *hashing) cut() {
	for i := range h.jobs {
		if j := &h.jobs[i]; h.whole(j) {
			h.segs = append(h.segs, segment{i, 0, j.c.ChunkSize})
		}
	}
	slices.SortStableFunc(h.segs, func(a, b segment) int { return cmp.Compare(b.n, a.n) })
	if len(h.segs) == len(h.jobs) {
		return
	}
	h.fast = make([]blockState, len(h.jobs))
	for i := range h.jobs {
		j := &h.jobs[i]
		if h.whole(j) {
			continue
		}
		if j.want == nil {
			j.bs = int64(h.r.f.BlockSize)
		}
		step := max(segmentSize/j.bs, 1) * j.bs
		size := j.c.ChunkSize
		if size > h.r.f.Size { // the chunk exceeds the file, so the first read fails and no digests are needed
			size = min(size, step)
		}
		n := max(1, (size+step-1)/step)
		h.fast[i].left.Store(n)
		for k := range n {
			h.segs = append(h.segs, segment{i, k * step, min(step, size-k*step)})
		}
	}
}

// whole reports whether the hash of a chunk is a single hash over all its bytes.
func (h *hashing) whole(j *chunkJob) bool { return h.r.f.Hash == MD5 && j.want == nil }

func (h *hashing) work(ctx context.Context, segs iter.Seq[int]) error {
	var buf []byte
	for k := range segs {
		s := h.segs[k]
		j := &h.jobs[s.job]
		if need := min(max(pieceSize, j.bs), s.n); j.dst == nil && int64(len(buf)) < need {
			buf = make([]byte, need)
		}
		if h.whole(j) {
			h.md5Chunk(ctx, s, buf)
		} else {
			h.blocks(ctx, s, buf)
		}
	}
	return nil
}

// piece reads n bytes at off of a chunk. It reads into the job's destination or, if there is none, into buf.
func (h *hashing) piece(j *chunkJob, buf []byte, off, n int64) ([]byte, error) {
	p := buf
	if j.dst != nil {
		p = j.dst[off:]
	}
	p = p[:n]
	_, err := h.r.read(j.c, p, off)
	return p, err
}

func (h *hashing) md5Chunk(ctx context.Context, s segment, buf []byte) {
	j := &h.jobs[s.job]
	sum := h.md5s.new(h.lanes)
	defer release(sum)
	for off := int64(0); off < s.n; off += pieceSize {
		if ctx.Err() != nil {
			return
		}
		p, err := h.piece(j, buf, off, min(pieceSize, s.n-off))
		if err != nil {
			h.res[s.job].err = err
			return
		}
		sum.Write(p)
	}
	sum.Sum(h.res[s.job].hash[:0])
}

// blocks hashes the blocks of a segment. It compares their digests with known digests, or collects the digests. The worker that
// finishes the last segment of a chunk hashes the collected digests.
func (h *hashing) blocks(ctx context.Context, s segment, buf []byte) {
	j, st := &h.jobs[s.job], &h.fast[s.job]
	st.once.Do(func() {
		if j.want == nil && j.c.ChunkSize <= h.r.f.Size {
			st.digests = make([]byte, (j.c.ChunkSize+j.bs-1)/j.bs*digestLen)
		}
	})
	step := max(pieceSize/j.bs, 1) * j.bs
	for off := s.off; off < s.off+s.n; off += step {
		if ctx.Err() != nil {
			return
		}
		p, err := h.piece(j, buf, off, min(step, s.off+s.n-off))
		if err != nil {
			h.fail(s.job, off, err)
			break
		}
		switch {
		case j.want != nil:
			if at, ok := equalBlocks(p, j.want[off/j.bs*digestLen:], int(j.bs)); !ok {
				at += off
				h.fail(s.job, at, fault.At(h.r.f.Name, j.c.Fptr+at, j.c.field(), ErrChecksum,
					"digest of the %d bytes from %d of the chunk differs from the stored digest", min(j.bs, j.c.ChunkSize-at), at))
			}
		case st.digests != nil:
			sumBlocks(p, st.digests[off/j.bs*digestLen:], int(j.bs))
		}
	}
	if st.left.Add(-1) > 0 {
		return
	}
	if h.res[s.job].hash = j.c.Hash; j.want == nil {
		h.res[s.job].hash = fastChunk(st.digests)
	}
	st.digests = nil
}

// fail records an error at byte off of a chunk. Only the error with the lowest offset is kept.
func (h *hashing) fail(job int, off int64, err error) {
	st := &h.fast[job]
	st.failed.Lock()
	defer st.failed.Unlock()
	if h.res[job].err == nil || off < st.errAt {
		h.res[job].err, st.errAt = err, off
	}
}

// sumBlocks stores the digests of the blocks of p in to.
func sumBlocks(p, to []byte, bs int) {
	for len(p) > 0 {
		n := min(len(p), bs)
		d := fastBlock(p[:n])
		copy(to, d[:])
		p, to = p[n:], to[digestLen:]
	}
}

// equalBlocks compares the blocks of p with their digests. It returns the offset of the first block that differs.
func equalBlocks(p, want []byte, bs int) (at int64, ok bool) {
	for len(p) > 0 {
		n := min(len(p), bs)
		if fastBlock(p[:n]) != digest(want) {
			return at, false
		}
		p, want, at = p[n:], want[digestLen:], at+int64(n)
	}
	return 0, true
}
