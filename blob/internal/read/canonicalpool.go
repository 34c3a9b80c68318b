package read

import (
	"container/list"
	"sync"
)

// CanonicalPool is blob.CanonicalPool.
type CanonicalPool struct {
	most int64 // bytes of blocks

	Mu    sync.Mutex
	Bytes int64         // of blocks that are decoded, or being decoded
	Idle  *list.List    // of *block that nobody uses, the next to go first
	freed chan struct{} // closed when bytes or idle change
	spare []byte        // of a block that has gone
}

// NewCanonicalPool makes a pool of so many bytes, for CanonicalOptions.Pool.
func NewCanonicalPool(bytes int64) *CanonicalPool {
	return &CanonicalPool{most: bytes, Idle: list.New(), freed: make(chan struct{})}
}

// room makes room for n bytes, if what nobody uses is enough for that. The lock is held.
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

// drop forgets a block that nobody uses. The lock is held.
func (p *CanonicalPool) drop(b *block) {
	p.Idle.Remove(b.elem)
	delete(b.of.Held, b.From)
	p.Bytes -= b.To - b.From
	p.spare = b.data
}

// buffer returns memory for n bytes. The lock is held.
func (p *CanonicalPool) buffer(n int64) []byte {
	if b := p.spare; int64(cap(b)) >= n && int64(cap(b)) <= 2*n {
		p.spare = nil
		return b[:n]
	}
	return make([]byte, n)
}

// wake tells those that wait for room. The lock is held.
func (p *CanonicalPool) wake() {
	close(p.freed)
	p.freed = make(chan struct{})
}
