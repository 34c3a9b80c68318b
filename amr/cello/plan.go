package cello

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"blobio/internal/amr"
	"blobio/internal/base/fault"
)

// plan lists the blocks to write, in file order, with their owners and files. One rank of each heap makes the plan from the
// reports of all ranks. The plan is read-only afterwards.
type plan struct {
	blocks []planBlock
	np     []int64 // number of particles of each type, for each block
	sigs   []string
	starts []int64 // first block of each file, then the number of blocks

	tree *amr.Tree // all blocks, including blocks not written
}

// planBlock is a block of the plan.
type planBlock struct {
	index        amr.Index
	owner, local int32 // rank, and index among the rank's blocks
	sig          int32 // index in sigs
	bytes        int64 // size of its data in the file
	cost         float64
}

// report describes a block to the ranks that make the plan.
type report struct {
	index amr.Index
	cost  float64
	bytes int64
	np    []int64
	sig   string
}

const reportBytes = 12 + 8 + 8 + 4

func (r *report) encode(b []byte) []byte {
	le := binary.LittleEndian
	for _, w := range r.index {
		b = le.AppendUint32(b, uint32(w))
	}
	b = le.AppendUint64(b, math.Float64bits(r.cost))
	b = le.AppendUint64(b, uint64(r.bytes))
	for _, n := range r.np {
		b = le.AppendUint64(b, uint64(n))
	}
	b = le.AppendUint32(b, uint32(len(r.sig)))
	return append(b, r.sig...)
}

func (r *report) decode(b []byte) []byte {
	le := binary.LittleEndian
	for i := range r.index {
		r.index[i] = int32(le.Uint32(b[4*i:]))
	}
	r.cost = math.Float64frombits(le.Uint64(b[12:]))
	r.bytes = int64(le.Uint64(b[20:]))
	b = b[28:]
	for i := range r.np {
		r.np[i] = int64(le.Uint64(b))
		b = b[8:]
	}
	n := le.Uint32(b)
	r.sig = string(b[4 : 4+n])
	return b[4+n:]
}

// makePlan sorts the blocks of all ranks and cuts them into files.
func makePlan(m *amr.Meta, o *Options, files int, reports [][]byte) (*plan, error) {
	p := &plan{tree: amr.NewTree(&m.Geometry)}
	type origin struct {
		planBlock
		np int
	}
	total := 0
	for _, b := range reports {
		total += len(b) / reportBytes
	}
	p.tree.Grow(total)
	from := make(map[amr.Index]origin, total)
	sigs := map[string]int32{}
	types := len(m.Particles)
	r := report{np: make([]int64, types)}
	var np []int64
	for rank, b := range reports {
		for local := int32(0); len(b) > 0; local++ {
			b = r.decode(b)
			if err := p.tree.Add(r.index); err != nil {
				return nil, fmt.Errorf("block %d of rank %d: %w", local, rank, err)
			}
			sig, ok := sigs[r.sig]
			if !ok {
				sig = int32(len(p.sigs))
				sigs[r.sig] = sig
				p.sigs = append(p.sigs, r.sig)
			}
			from[r.index] = origin{planBlock{r.index, int32(rank), local, sig, r.bytes, r.cost}, len(np)}
			np = append(np, r.np...)
		}
	}
	order := o.Ordering.Order(p.tree)
	if len(order) != p.tree.Len() {
		return nil, fault.Usage("ordering %s gives %d blocks, want all %d", o.Ordering.Name(), len(order), p.tree.Len())
	}
	p.tree.Sorted() // so that later calls only read
	if !o.dump() {
		if err := complete(p.tree); err != nil {
			return nil, err
		}
	}
	p.blocks = make([]planBlock, 0, len(order))
	p.np = make([]int64, 0, len(np))
	for _, x := range order {
		e, ok := from[x]
		if !ok {
			return nil, fault.Usage("ordering %s gives block %v, which does not exist or was given before", o.Ordering.Name(), x)
		}
		delete(from, x)
		if l := x.Level(); o.LeavesOnly && !p.tree.Leaf(x) || o.Levels != nil && (l < o.Levels[0] || l > o.Levels[1]) {
			continue
		}
		p.blocks = append(p.blocks, e.planBlock)
		p.np = append(p.np, np[e.np:e.np+types]...)
	}
	if len(p.blocks) == 0 {
		return nil, fault.Usage("no blocks to write")
	}
	if err := p.distinct(m); err != nil {
		return nil, err
	}
	p.cut(o.Cut, files)
	return p, nil
}

// distinct returns an error for blocks with equal names. If the number of root blocks is not a power of two, several blocks of
// a level below 0 have the same name.
func (p *plan) distinct(m *amr.Meta) error {
	if m.MinLevel == 0 {
		return nil
	}
	seen := make(map[string]amr.Index, len(p.blocks))
	for i := range p.blocks {
		x := p.blocks[i].index
		if x.Level() > 0 {
			continue
		}
		name := x.Name(m.Rank, m.Roots)
		if other, ok := seen[name]; ok {
			return fault.Usage("blocks %v (level %d) and %v (level %d) have the same name %s with %v root blocks; omit the levels below 0",
				other, other.Level(), x, x.Level(), name, m.Roots)
		}
		seen[name] = x
	}
	return nil
}

// cut sets starts.
func (p *plan) cut(how string, files int) {
	starts, _ := startsOf(how, len(p.blocks), files, func(i int) (bytes, cost float64) { return float64(p.blocks[i].bytes), p.blocks[i].cost })
	for _, s := range starts {
		p.starts = append(p.starts, int64(s))
	}
}

// complete checks the requirements of a restart: all root blocks and parents exist, and a block has all children or none.
func complete(t *amr.Tree) error {
	levels, first := t.Missing()
	if len(levels) == 0 {
		return nil
	}
	n := int64(0)
	for _, k := range levels {
		n += k
	}
	return fmt.Errorf("%d blocks are missing, such as %s of level %d: %w", n, t.Name(first), first.Level(), ErrMissing)
}

// Source gives the blocks of a rank to WriteFrom. If a process has several ranks, several goroutines call its methods at the
// same time.
type Source interface {
	// Len returns the number of blocks of this rank.
	Len() int
	// Head returns block i without its data: it sets Index, Cost, Attrs, and the number N of each type of Particles.
	Head(ctx context.Context, i int) (*amr.Block, error)
	// Block returns block i. WriteFrom calls it once for each block that it writes. The returned block must not change until
	// WriteFrom returns.
	Block(ctx context.Context, i int) (*amr.Block, error)
}

// blocks is the Source of blocks in memory.
type blocks []*amr.Block

func (s blocks) Len() int                                           { return len(s) }
func (s blocks) Head(_ context.Context, i int) (*amr.Block, error)  { return s[i], nil }
func (s blocks) Block(_ context.Context, i int) (*amr.Block, error) { return s[i], nil }
