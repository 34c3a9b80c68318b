package ffformat

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"hash"
	"slices"
	"sync/atomic"

	"blobio/internal/base/par"
)

const (
	// writePiece is the number of bytes digested, hashed and written at once. A piece stays in the cache between these steps.
	writePiece = 512 << 10
	// writeSegment is the number of bytes that one worker takes from a chunk shared by several workers.
	writeSegment = 4 << 20
)

// writeJob is the state of a chunk that is being written.
type writeJob struct {
	seq    int
	c      *Container
	data   []byte
	cur    []byte // digests of the chunk's new blocks
	prev   chunkDigests
	recent chunkDigests
	hash   digest

	newToFile atomic.Bool // the chunk differs from prev
	newAtAll  atomic.Bool // the chunk differs from recent
	summing   atomic.Bool // a worker computes hash
}

func (u *Update) newJob(seq int, c *Container, data []byte) *writeJob {
	size, bs := int64(len(data)), int64(u.w.o.BlockSize)
	j := &writeJob{seq: seq, c: c, data: data, prev: u.o.Prev.chunk(c), recent: u.o.Recent.chunk(c)}
	j.cur = make([]byte, (size+bs-1)/bs*digestLen)
	j.newToFile.Store(j.prev.size != size)
	j.newAtAll.Store(j.recent.size != size)
	return j
}

// settled returns the hash of the chunk if it is known without hashing, because all blocks so far equal the blocks of an earlier
// state.
func (j *writeJob) settled() (digest, bool) {
	switch {
	case len(j.data) == 0:
		return digest{}, false
	case !j.newToFile.Load():
		return j.prev.hash, true
	case !j.newAtAll.Load():
		return j.recent.hash, true
	}
	return digest{}, false
}

// write writes the chunks. The MD5 of one chunk cannot be divided among workers. If there are enough chunks, each worker takes
// one chunk through all steps, so that the bytes are read from memory only once. Otherwise some workers compute the MD5 of whole
// chunks, while the other workers digest and write segments of chunks.
func (u *Update) write(ctx context.Context, jobs []*writeJob) error {
	workers := par.Workers(u.w.o.Workers)
	var total, largest int64
	for _, j := range jobs {
		total += int64(len(j.data))
		largest = max(largest, int64(len(j.data)))
	}
	slices.SortStableFunc(jobs, func(a, b *writeJob) int { return cmp.Compare(len(b.data), len(a.data)) })
	var tasks []func(context.Context) error
	if at, lanes := streams(len(jobs), total, largest, workers); u.w.o.Hash == MD5 && (lanes || largest*int64(workers) <= total || total < writeSegment) {
		for _, j := range jobs {
			tasks = append(tasks, func(ctx context.Context) error { return u.through(ctx, j, lanes) })
		}
		return perform(ctx, at, tasks)
	}
	sum := func(j *writeJob) {
		tasks = append(tasks, func(ctx context.Context) error { return u.sum(ctx, j) })
	}
	var later []*writeJob
	for _, j := range jobs {
		if _, ok := j.settled(); ok || u.w.o.Hash == Fast {
			later = append(later, j)
		} else {
			j.summing.Store(true)
			sum(j)
		}
	}
	step := int64(max(writeSegment/u.w.o.BlockSize, 1) * u.w.o.BlockSize)
	for _, j := range jobs {
		for off := int64(0); off < int64(len(j.data)); off += step {
			to := min(off+step, int64(len(j.data)))
			tasks = append(tasks, func(ctx context.Context) error { return u.segment(ctx, j, off, to) })
		}
	}
	if err := perform(ctx, workers, tasks); err != nil {
		return err
	}
	tasks = tasks[:0]
	for _, j := range later {
		if h, ok := j.settled(); ok && u.w.o.Hash == MD5 {
			j.hash = h
		} else if !j.summing.Load() {
			sum(j)
		}
	}
	return perform(ctx, workers, tasks)
}

// perform starts the tasks in order on several workers. It stops at the first error.
func perform(ctx context.Context, workers int, tasks []func(context.Context) error) error {
	return par.Each(ctx, workers, len(tasks), func(ctx context.Context, k int) error { return tasks[k](ctx) })
}

// pieceLen returns writePiece rounded to whole blocks.
func (u *Update) pieceLen() int64 {
	return int64(max(writePiece/u.w.o.BlockSize, 1) * u.w.o.BlockSize)
}

// through takes a chunk through all steps. It starts the MD5 of the chunk when it finds a block that is neither in the file nor
// in the recent state.
func (u *Update) through(ctx context.Context, j *writeJob, lane bool) error {
	var h hash.Hash
	defer func() { release(h) }()
	size, step := int64(len(j.data)), u.pieceLen()
	hashed := int64(0)
	for off := int64(0); off < size; off += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(off+step, size)
		if err := u.piece(j, off, to, func() {
			if _, ok := j.settled(); ok {
				return
			}
			if h == nil {
				h = u.md5s.new(lane)
			}
			for hashed < to { // hash in pieces, because the hash queue is limited
				end := min(hashed+step, to)
				h.Write(j.data[hashed:end])
				hashed = end
			}
		}); err != nil {
			return err
		}
	}
	if sum, ok := j.settled(); ok {
		j.hash = sum
		return nil
	}
	if h == nil { // the chunk is empty
		h = md5.New()
	}
	u.md5.Add(size)
	h.Sum(j.hash[:0])
	return nil
}

// segment digests and writes bytes [off, to) of a chunk. If a new block shows that the chunk needs a new MD5, this worker
// computes the MD5, while other workers do the other segments. The MD5 takes longest.
func (u *Update) segment(ctx context.Context, j *writeJob, off, to int64) error {
	for step := u.pieceLen(); off < to; off += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := u.piece(j, off, min(off+step, to), nil); err != nil {
			return err
		}
	}
	if u.w.o.Hash == MD5 {
		if _, ok := j.settled(); !ok && j.summing.CompareAndSwap(false, true) {
			return u.sum(ctx, j)
		}
	}
	return nil
}

// sum computes the hash of a whole chunk. For a Fast file it uses the digests.
func (u *Update) sum(ctx context.Context, j *writeJob) error {
	if u.w.o.Hash == Fast {
		j.hash = fastChunk(j.cur)
		return nil
	}
	h := md5.New()
	for b := j.data; len(b) > 0; b = b[min(len(b), writePiece):] {
		if err := ctx.Err(); err != nil {
			return err
		}
		h.Write(b[:min(len(b), writePiece)])
	}
	u.md5.Add(int64(len(j.data)))
	h.Sum(j.hash[:0])
	return nil
}

// piece digests the blocks in [off, to). off must be the start of a block. It calls hash if hash is not nil. Then it writes the
// runs of blocks that the file does not hold.
func (u *Update) piece(j *writeJob, off, to int64, hash func()) error {
	bs, size := int64(u.w.o.BlockSize), int64(len(j.data))
	dirty, blocks := int64(0), int64(0)
	run := int64(-1) // start of the current run of blocks to write
	var room [writePiece / minBlockSize][2]int64
	runs := room[:0]
	for at := off; at < to; at += bs {
		end := min(at+bs, size)
		k := at / bs * digestLen
		d := j.cur[k : k+digestLen]
		sum := fastBlock(j.data[at:end])
		copy(d, sum[:])
		blocks++
		if !j.newAtAll.Load() && !sameBlock(&j.recent, d, at, end, bs, k) {
			j.newAtAll.Store(true)
		}
		if sameBlock(&j.prev, d, at, end, bs, k) {
			if run >= 0 {
				runs = append(runs, [2]int64{run, at})
				run = -1
			}
			continue
		}
		if !j.newToFile.Load() {
			j.newToFile.Store(true)
		}
		dirty++
		if run < 0 {
			run = at
		}
	}
	if run >= 0 {
		runs = append(runs, [2]int64{run, to})
	}
	if hash != nil {
		hash()
	}
	u.blocks.Add(blocks)
	u.dirty.Add(dirty)
	for _, r := range runs {
		if err := u.put(j.data[r[0]:r[1]], j.c.Fptr+r[0]); err != nil {
			return err
		}
	}
	return nil
}

// sameBlock reports whether state p has the block [at, end) with digest d. k is the offset of the block's digest. If the last
// block has another length in p, it is not the same block.
func sameBlock(p *chunkDigests, d []byte, at, end, bs, k int64) bool {
	if at >= p.size || min(at+bs, p.size) != end {
		return false
	}
	return bytes.Equal(p.blocks[k:k+int64(len(d))], d)
}
