package bench

import (
	"blobio/blob"
	"blobio/e3smcases"
	"fmt"
)

// rankShare is what one rank has of a history file of one record.
type rankShare struct {
	bytes int64
	sizes []int64 // mean bytes of each decomposed variable
}

// How blobio writes where ranks share no heap and nodes have shared memory: see "Ranks without a common heap" in
// docs/architecture.md.
const (
	ownLeast   = 128 << 10 // mean bytes from which on each rank writes its own pieces, or process-centric its blob
	ownWrite   = 256 << 10 // most of one write of those
	windowSize = 1 << 20   // of what aggregators write
)

// Writes is how many writes of data a subfile to a node of perNode ranks takes, one record.
func (c *rankShare) Writes(perNode int, l blob.Layout) (n int64) {
	small, blobBytes := int64(0), int64(0)
	up := func(n, size int64) int64 { return (n + size - 1) / size }
	for _, s := range c.sizes {
		blobBytes += s
		if s < ownLeast {
			small += s
		} else if l == blob.VariableCentric {
			n += int64(perNode) * up(s, ownWrite) // pieces of a rank do not lie together
		}
	}
	if l == blob.VariableCentric {
		return n + up(small*int64(perNode), windowSize)
	}
	if blobBytes < ownLeast {
		return up(blobBytes*int64(perNode), windowSize)
	}
	return int64(perNode) * up(blobBytes, ownWrite)
}

// atProduction is F h0 as in production: ne120 with 72 levels and 21,600 ranks, float record variables.
func atProduction() (*rankShare, error) {
	const ranks, cols = 21600, 777602
	maps := []int64{cols, cols, 72 * cols} // elements
	c, err := e3smcases.Load("F_h0")
	if err != nil {
		return nil, err
	}
	if len(c.MapDims) != len(maps) {
		return nil, fmt.Errorf("case F_h0 has %d maps, want %d", len(c.MapDims), len(maps))
	}
	x, all := new(rankShare), int64(0)
	for v := range c.Vars {
		cv := &c.Vars[v]
		if cv.Map == 0 {
			continue
		}
		t, _ := cv.FileType(true)
		n := maps[cv.Map-1] * int64(t.Size())
		all += n
		x.sizes = append(x.sizes, n/ranks)
	}
	x.bytes = all / ranks
	return x, nil
}
