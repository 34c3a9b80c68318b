package versioned

import (
	"fmt"
	"math"
	"sync/atomic"
)

// block is what one rank has for a version, in the place of a file.
type block struct {
	reader
	table []entry
	users atomic.Int64 // that read it; below 0: it is gone
}

const gone = math.MinInt64 / 2

// use calls f while the bytes are there.
func (b *block) use(f func(x *reader) error) error {
	defer b.users.Add(-1)
	if b.users.Add(1) < 0 {
		return fmt.Errorf("versioned: it was dropped while it was read: %w", ErrNoVersion)
	}
	return f(&b.reader)
}

// end gives the bytes back, nil if somebody reads them.
func (b *block) end() []byte {
	if !b.users.CompareAndSwap(0, gone) {
		return nil
	}
	return b.data
}
