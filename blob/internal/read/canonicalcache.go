package read

import (
	"container/list"
	"context"
	"sync"

	"blobio/internal/base/fault"
)

// blockCache holds decoded blocks of a canonical file. A reader that needs a block waits if another reader is decoding it.
type blockCache struct {
	C              *CanonicalFile
	Blocks         blocks
	Limit          int64            // limit of the bytes in blocks; it determines the length of blocks and of the read-ahead
	*CanonicalPool                  // counts the blocks; its lock also protects the following fields
	Held           map[int64]*block // by offset
	rent           map[int64]int64  // by offset of an uncached block: total cost of reads from it without the cache
	bad            map[int64]int64  // by offset of a block that cannot be decoded: bytes read from it since then
}

// block is one block of the file.
type block struct {
	of       *blockCache
	From, To int64
	data     []byte
	err      error
	Ready    chan struct{} // closed when data or err is set
	uses     int
	taken    int64 // number of bytes that reads have copied from the block
	elem     *list.Element
}

// maxNoted limits the entries of rent and of bad.
const maxNoted = 1 << 12

// NewBlockCache makes the cache of a file, in a new pool if pool is nil.
func NewBlockCache(c *CanonicalFile, limit int64, pool *CanonicalPool) *blockCache {
	if pool == nil {
		pool = NewCanonicalPool(limit)
	}
	limit = min(limit, pool.most) // no block may be longer than the pool
	return &blockCache{C: c, Blocks: c.divide(limit), Limit: limit, CanonicalPool: pool, Held: map[int64]*block{}, rent: map[int64]int64{}, bad: map[int64]int64{}}
}

// leave frees the blocks when the Reader is closed.
func (k *blockCache) leave() {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	for _, b := range k.Held {
		if b.elem != nil {
			k.drop(b)
		}
	}
	k.spare = nil
	k.wake()
}

// wanted reports whether to decode the block at from. cost is the cost of this read without the cache, and whole is the cost of
// decoding. wanted returns true when the total cost of reads without the cache exceeds the cost of decoding.
func (k *blockCache) wanted(from, cost, whole int64) bool {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	if k.Held[from] != nil {
		return true
	}
	paid := k.rent[from] + cost
	if paid > whole {
		delete(k.rent, from)
		return true
	}
	if len(k.rent) >= maxNoted {
		clear(k.rent)
	}
	k.rent[from] = paid
	return false
}

// isBad reports whether decoding a block has failed.
func (k *blockCache) isBad(from int64) bool {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	_, bad := k.bad[from]
	return bad
}

// around notes that n bytes of a block that cannot be decoded were read directly. When as many bytes as the block has were read,
// decoding is tried again, because a disk may have failed only for a moment.
func (k *blockCache) around(from, to, n int64) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	if was, bad := k.bad[from]; bad && was+n > to-from {
		delete(k.bad, from)
	} else if bad {
		k.bad[from] = was + n
	}
}

// has reports whether a block is decoded or being decoded.
func (k *blockCache) has(from int64) bool {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	return k.Held[from] != nil
}

// copy copies the bytes of a block from off on.
func (k *blockCache) copy(ctx context.Context, p []byte, off, from, to int64) (int, error) {
	b, err := k.hold(ctx, from, to, true)
	if err != nil {
		return 0, err
	}
	defer k.release(b)
	n := copy(p, b.data[off-from:])
	k.took(b, n)
	return n, nil
}

// hold returns a decoded block and counts a use. If the block is not in the cache, hold decodes it if decode is true, and
// otherwise returns nil.
func (k *blockCache) hold(ctx context.Context, from, to int64, decode bool) (*block, error) {
	k.Mu.Lock()
	b := k.Held[from]
	switch {
	case b != nil:
		k.use(b)
	case !decode:
		k.Mu.Unlock()
		return nil, nil
	default:
		b = &block{of: k, From: from, To: to, Ready: make(chan struct{}), uses: 2} // one use for the caller, one for the decoder
		k.Held[from] = b
		if !k.C.R.Life.Behind(func(ctx context.Context) { k.fill(ctx, b); k.release(b) }) {
			delete(k.Held, from)
			k.Mu.Unlock()
			return nil, fault.Usage("canonical file of %s: the Reader is closed", k.C.R.Files.Base)
		}
	}
	k.Mu.Unlock()
	err := error(nil)
	select {
	case <-b.Ready:
		err = b.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		k.release(b)
		return nil, err
	}
	return b, nil
}

// took notes that n bytes of a block were read. When a quarter of the block was read, the following blocks are decoded ahead.
func (k *blockCache) took(b *block, n int) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	if b.taken += int64(n); b.taken >= (b.To-b.From)/4 {
		k.onward(b.To)
	}
}

// onward starts decoding the blocks after byte from, unless enough of these blocks are decoded or being decoded. The caller holds
// the lock.
func (k *blockCache) onward(from int64) {
	sum := int64(0)
	for from < k.C.Length && k.Held[from] != nil && sum < k.Limit/8*3 {
		sum += k.Held[from].To - from
		from = k.Held[from].To
	}
	if from < k.C.Length && sum < k.Limit/8*3 {
		k.ahead(from)
	}
}

// prove decodes the block, and starts decoding the following blocks. The block stays in the cache as long as there is room.
func (k *blockCache) prove(ctx context.Context, from, to int64) error {
	k.Mu.Lock()
	k.onward(from)
	k.Mu.Unlock()
	b, err := k.hold(ctx, from, to, true)
	if err == nil {
		k.release(b)
	}
	return err
}

// ahead starts decoding as many blocks from byte from on as fit. It decodes them together, because all data of a rank can be read
// at once. They get less than half of the room, so that the next blocks can be decoded while a program reads these. The caller
// holds the lock.
func (k *blockCache) ahead(from int64) {
	var list []*block
	for sum := int64(0); from < k.C.Length; {
		_, to := k.Blocks.At(from)
		_, bad := k.bad[from]
		if sum += to - from; bad || sum > k.Limit/8*3 || k.Held[from] != nil || !k.room(to-from) {
			break
		}
		b := &block{of: k, From: from, To: to, Ready: make(chan struct{}), uses: 1, data: k.buffer(to - from)}
		k.Held[from] = b
		k.Bytes += to - from
		list = append(list, b)
		from = to
	}
	if len(list) > 0 && !k.C.R.Life.Behind(func(ctx context.Context) {
		k.decode(ctx, list...)
		for _, b := range list {
			k.release(b)
		}
	}) {
		for _, b := range list {
			k.Bytes -= b.To - b.From
			b.err = fault.Usage("canonical file of %s: the Reader is closed", k.C.R.Files.Base)
			k.forget(b)
		}
	}
}

func (k *blockCache) use(b *block) {
	if b.uses++; b.elem != nil {
		k.Idle.Remove(b.elem)
		b.elem = nil
	}
}

// release ends one use of a block.
func (k *blockCache) release(b *block) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	if b.uses--; b.uses > 0 || k.Held[b.From] != b {
		return
	}
	if b.taken >= b.To-b.From {
		b.elem = k.Idle.PushFront(b) // the block was read to the end, so it is probably not needed again
	} else {
		b.elem = k.Idle.PushBack(b)
	}
	k.wake()
}

// fill decodes a block when there is room for it. ctx is the context of the Reader.
func (k *blockCache) fill(ctx context.Context, b *block) {
	n := b.To - b.From
	k.Mu.Lock()
	for !k.room(n) {
		freed := k.freed
		k.Mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			b.err = ctx.Err()
		}
		k.Mu.Lock()
		if b.err != nil {
			k.forget(b)
			k.Mu.Unlock()
			return
		}
	}
	k.Bytes += n
	b.data = k.buffer(n)
	k.Mu.Unlock()
	k.decode(ctx, b)
}

// decode computes the bytes of blocks, whose memory is allocated. If decoding all blocks together fails, it decodes them one by
// one.
func (k *blockCache) decode(ctx context.Context, list ...*block) {
	pieces := make([]Piece, len(list))
	for i, b := range list {
		pieces[i] = Piece{b.data, b.From}
	}
	err := k.C.Decode(ctx, k.C.form, pieces...)
	if err != nil && len(list) > 1 && ctx.Err() == nil {
		for _, b := range list {
			k.decode(ctx, b)
		}
		return
	}
	k.Mu.Lock()
	defer k.Mu.Unlock()
	for _, b := range list {
		if err == nil {
			close(b.Ready)
			continue
		}
		k.Bytes -= b.To - b.From
		b.data, b.err = nil, err
		if ctx.Err() == nil {
			if len(k.bad) >= maxNoted {
				clear(k.bad)
			}
			k.bad[b.From] = 0
		}
		k.forget(b)
	}
}

// forget removes a block after an error. The caller holds the lock.
func (k *blockCache) forget(b *block) {
	delete(k.Held, b.From)
	close(b.Ready)
	k.wake()
}

// CanonicalPool is blob.CanonicalPool.
type CanonicalPool struct {
	most int64 // limit of the bytes in blocks

	Mu    sync.Mutex
	Bytes int64         // total bytes of blocks that are decoded or being decoded
	Idle  *list.List    // unused *block, in the order in which they are dropped
	freed chan struct{} // closed when Bytes or Idle change
	spare []byte        // memory of a dropped block
}

// NewCanonicalPool makes a pool of bytes bytes for CanonicalOptions.Pool.
func NewCanonicalPool(bytes int64) *CanonicalPool {
	return &CanonicalPool{most: bytes, Idle: list.New(), freed: make(chan struct{})}
}

// room frees n bytes by dropping unused blocks. It reports whether n bytes are free. The caller holds the lock.
func (p *CanonicalPool) room(n int64) bool {
	for p.Bytes+n > p.most {
		e := p.Idle.Front()
		if e == nil {
			return false
		}
		p.drop(e.Value.(*block))
	}
	return true
}

// drop removes an unused block. The caller holds the lock.
func (p *CanonicalPool) drop(b *block) {
	p.Idle.Remove(b.elem)
	delete(b.of.Held, b.From)
	p.Bytes -= b.To - b.From
	p.spare = b.data
}

// buffer returns memory for n bytes. The caller holds the lock.
func (p *CanonicalPool) buffer(n int64) []byte {
	if b := p.spare; int64(cap(b)) >= n && int64(cap(b)) <= 2*n {
		p.spare = nil
		return b[:n]
	}
	return make([]byte, n)
}

// wake wakes the goroutines that wait for room. The caller holds the lock.
func (p *CanonicalPool) wake() {
	close(p.freed)
	p.freed = make(chan struct{})
}
