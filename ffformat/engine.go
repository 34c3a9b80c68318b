package ffformat

import (
	"cmp"
	"context"
	"crypto/md5"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// pieceSize is read and hashed at once, in bytes: it stays in the cache between.
	pieceSize = 256 << 10
	// segmentSize is what one worker takes of a chunk of a Fast file.
	segmentSize = 4 << 20
)

// chunkJob is a chunk to be read and hashed.
type chunkJob struct {
	c   place
	dst []byte // its bytes go here; nil: nowhere
}

type chunkResult struct {
	hash Digest
	err  error // of reading
}

// segment is a part of a chunk for one worker.
type segment struct {
	job    int
	off, n int64
}

// fastState collects the block digests of a chunk of a Fast file.
type fastState struct {
	once    sync.Once
	digests []byte
	left    atomic.Int64 // segments
	failed  sync.Mutex   // guards errAt and the err of the result
	errAt   int64        // the first byte that could not be read
}

// hashing is one run of hashChunks.
type hashing struct {
	r    *Reader
	jobs []chunkJob
	segs []segment
	fast []fastState
	res  []chunkResult
	next atomic.Int64
}

// hashChunks reads and hashes chunks on several workers, and waits for them. An
// error is that of ctx.
func (r *Reader) hashChunks(ctx context.Context, jobs []chunkJob, workers int) ([]chunkResult, error) {
	h := &hashing{r: r, jobs: jobs, res: make([]chunkResult, len(jobs))}
	h.cut()
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, len(h.segs))
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(func() { h.work(ctx) })
	}
	if workers > 0 {
		h.work(ctx)
	}
	wg.Wait()
	return h.res, ctx.Err()
}

// cut makes the segments: of MD5 whole chunks, the longest first so that no
// worker is left with one at the end.
func (h *hashing) cut() {
	if h.r.f.Hash == MD5 {
		h.segs = make([]segment, len(h.jobs))
		for i, j := range h.jobs {
			h.segs[i] = segment{i, 0, j.c.ChunkSize}
		}
		slices.SortStableFunc(h.segs, func(a, b segment) int { return cmp.Compare(b.n, a.n) })
		return
	}
	h.fast = make([]fastState, len(h.jobs))
	bs := int64(h.r.f.BlockSize)
	step := segmentSize / bs * bs
	for i, j := range h.jobs {
		size := j.c.ChunkSize
		if size > h.r.f.Size { // no such bytes: the first read fails, without digests for them all
			size = min(size, step)
		}
		n := max(1, (size+step-1)/step)
		h.fast[i].left.Store(n)
		for k := range n {
			h.segs = append(h.segs, segment{i, k * step, min(step, size-k*step)})
		}
	}
}

func (h *hashing) work(ctx context.Context) {
	var buf []byte
	for {
		k := h.next.Add(1) - 1
		if k >= int64(len(h.segs)) || ctx.Err() != nil {
			return
		}
		s := h.segs[k]
		if j := h.jobs[s.job]; j.dst == nil && s.n > 0 && buf == nil {
			buf = make([]byte, max(pieceSize, h.r.f.BlockSize))
		}
		if h.fast != nil {
			h.fastSegment(ctx, s, buf)
		} else {
			h.md5Chunk(ctx, s, buf)
		}
	}
}

// piece reads n bytes at off of a chunk, to where they belong or to buf.
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
	sum := md5.New()
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

// fastSegment hashes the blocks of a segment; whoever does the last segment of a
// chunk hashes the digests.
func (h *hashing) fastSegment(ctx context.Context, s segment, buf []byte) {
	j, st, bs := &h.jobs[s.job], &h.fast[s.job], int64(h.r.f.BlockSize)
	st.once.Do(func() {
		if j.c.ChunkSize <= h.r.f.Size {
			st.digests = make([]byte, (j.c.ChunkSize+bs-1)/bs*16)
		}
	})
	step := max(pieceSize/bs, 1) * bs
	for off := s.off; off < s.off+s.n; off += step {
		if ctx.Err() != nil {
			return
		}
		p, err := h.piece(j, buf, off, min(step, s.off+s.n-off))
		if err != nil {
			st.failed.Lock()
			if h.res[s.job].err == nil || off < st.errAt {
				h.res[s.job].err, st.errAt = err, off
			}
			st.failed.Unlock()
			break
		}
		if st.digests == nil {
			break
		}
		at := st.digests[off/bs*16:]
		for len(p) > 0 {
			b := p[:min(int64(len(p)), bs)]
			d := fastBlock(b)
			copy(at, d[:])
			p, at = p[len(b):], at[16:]
		}
	}
	if st.left.Add(-1) == 0 {
		h.res[s.job].hash = fastChunk(st.digests)
		st.digests = nil
	}
}
