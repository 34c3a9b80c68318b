package bench

import (
	"blobio/blob"
	"blobio/e3smcases"
)

const gib = 1 << 30

// scaleCase is a case at production size: what the model needs of it.
type scaleCase struct {
	Name    string
	Ranks   int
	Records int64
	Bytes   int64 // of all ranks, float record variables for F and I
	Pieces  int64 // puts of a rank: variables of all records

	sizes []int64 // mean bytes of each of these, of one record
}

// How blobio writes where ranks share no heap and nodes have shared memory: see "Ranks without a common heap" in
// docs/architecture.md.
const (
	ownLeast   = 128 << 10 // mean bytes from which on each rank writes its own pieces, or process-centric its blob
	ownWrite   = 256 << 10 // most of one write of those
	windowSize = 1 << 20   // of what aggregators write
)

// Writes is how many writes of data a subfile to a node of perNode ranks takes, one record.
func (c *scaleCase) Writes(perNode int, l blob.Layout) (n int64) {
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

// scaleCases are the cases of the published table. Elements of the decomposed dimensions by map are those of the
// grids in production: ne120 with 72 levels; an ocean of 3,693,225 cells, 11,135,652 edges and
// 7,441,216 vertices with 80 levels; a land of half a degree, of which 62,482 cells are land, with 240 records.
func scaleCases() ([]scaleCase, error) {
	const cols, cells, edges, vertices, land = 777602, 3693225, 11135652, 7441216, 62482
	var out []scaleCase
	for _, s := range []struct {
		name, history string
		ranks         int
		records       int64
		float         bool
		maps          []int64
	}{
		{"F", "F_h0", 21600, 1, true, []int64{cols, cols, 72 * cols}},
		{"G", "G", 9600, 1, false, []int64{cells, edges, 80 * cells, 80 * edges, 80 * vertices, 81 * cells}},
		{"I", "I_h0", 1344, 240, true, []int64{land, 15 * land, 10 * land, 9 * land, 17 * land}},
	} {
		c, err := e3smcases.Load(s.history)
		if err != nil {
			return nil, err
		}
		if len(c.MapDims) != len(s.maps) {
			return nil, pkg.Errorf("case %s has %d maps, want %d", s.history, len(c.MapDims), len(s.maps))
		}
		x := scaleCase{Name: s.name, Ranks: s.ranks, Records: s.records}
		for v := range c.Vars {
			cv := &c.Vars[v]
			if cv.Map == 0 {
				continue
			}
			n := int64(1)
			if cv.Record {
				n = s.records
			}
			t, _ := cv.FileType(s.float)
			x.Pieces += n
			x.Bytes += n * s.maps[cv.Map-1] * int64(t.Size())
			x.sizes = append(x.sizes, s.maps[cv.Map-1]*int64(t.Size())/int64(s.ranks))
		}
		out = append(out, x)
	}
	return out, nil
}
