package recovery

import (
	"context"
	"encoding/json"
	"slices"

	"blobio/comm"
	"blobio/versioned"
)

// replica is this rank's replica of the box tables of all levels.
type replica struct {
	tables [][]versioned.BoxInfo // by level, as the solver should have them
	sealed []byte                // the encoded tables with their checksum
}

// set makes boxes the table of a level.
func (p *replica) set(level int, boxes []versioned.BoxInfo) error {
	p.tables[level] = slices.Clone(boxes)
	b, err := json.Marshal(p.tables)
	p.sealed = seal(b)
	return err
}

// owners returns the ranks of the boxes of each level.
func (p *replica) owners() [][]int {
	out := make([][]int, len(p.tables))
	for l, boxes := range p.tables {
		for _, b := range boxes {
			out[l] = append(out[l], int(b.Owner))
		}
	}
	return out
}

// repair is collective: it takes the tables of the majority of ranks, or the saved tables if there is no majority. A rank does not
// count if now, the tables of its solver, differ from its replica.
func (p *replica) repair(ctx context.Context, c comm.Comm, now, saved [][]versioned.BoxInfo) error {
	mine := p.sealed
	if !slices.EqualFunc(p.tables, now, slices.Equal) {
		mine = append(slices.Clone(mine), 0) // invalid
	}
	good, _, err := repairReplicas(ctx, c, mine, func() ([]byte, error) {
		b, err := json.Marshal(saved)
		return seal(b), err
	})
	if err != nil {
		return err
	}
	data, _ := unseal(good)
	var tables [][]versioned.BoxInfo
	if err := comm.Agree(ctx, c, json.Unmarshal(data, &tables)); err != nil {
		return err
	}
	p.sealed, p.tables = good, tables
	return nil
}

// differ returns the first level on which boxes of a rank differ between now and the replica, or the number of levels.
func (p *replica) differ(now [][]versioned.BoxInfo, rank int) int {
	for l, good := range p.tables {
		now := now[l]
		own := func(t []versioned.BoxInfo, i int) bool { return i < len(t) && int(t[i].Owner) == rank }
		for i := range max(len(now), len(good)) {
			if (own(now, i) || own(good, i)) && (i >= len(now) || i >= len(good) || now[i] != good[i]) {
				return l
			}
		}
	}
	return len(p.tables)
}
