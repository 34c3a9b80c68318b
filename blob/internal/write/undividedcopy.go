package write

import (
	"blobio/blob/internal/dataset"
	"bytes"
	"encoding/binary"
)

// common is a copy that is shared by the ranks of a process that have put the same bytes.
type common struct {
	raw []byte
	sum uint64
	n   int // ranks
}

// copyOf returns a copy of bytes, which counts once, however many ranks have put the same.
func (p *Process) copyOf(raw []byte) (*common, error) {
	sum := sumOf(raw)
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if c := p.copies[sum]; c != nil && bytes.Equal(c.raw, raw) {
		c.n++
		return c, nil
	}
	if err := p.awaitLocked(int64(len(raw))); err != nil {
		return nil, err
	}
	c := &common{append(make([]byte, 0, len(raw)), raw...), sum, 1}
	if p.copies == nil {
		p.copies = map[uint64]*common{}
	}
	if p.copies[sum] == nil {
		p.copies[sum] = c
	}
	return c, nil
}

func (p *Process) dropCopy(c *common) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if c.n--; c.n > 0 {
		return
	}
	p.Used -= int64(len(c.raw))
	if p.copies[c.sum] == c {
		delete(p.copies, c.sum)
	}
}

// hashOdd keeps mix from mapping 0 to 0.
const hashOdd = 0x9e3779b97f4a7c15

func hashAdd(h, x uint64) uint64 { return dataset.Mix(h+x) + hashOdd }

// sumOf is a hash of bytes.
func sumOf(b []byte) uint64 {
	h := hashAdd(hashOdd, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		h = hashAdd(h, binary.LittleEndian.Uint64(b))
	}
	var rest [8]byte
	copy(rest[:], b)
	return hashAdd(h, binary.LittleEndian.Uint64(rest[:]))
}
