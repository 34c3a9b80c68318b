package ffformat

import (
	"blobio/internal/base/fault"
	"math"
	"slices"
)

// VarSize is a protected variable and its size in bytes.
type VarSize struct {
	ID   int32
	Size int64
}

// growth is the list of containers of one rank. The list only grows, and containers do not move, so their offsets are the same in
// every file of one Writer.
//
// Every version of FTI follows this growth rule: a variable fills its containers in order. If bytes remain, they get one new
// container after all others. All containers that one checkpoint adds form one block.
type growth struct {
	layout Layout
	blocks []Block
	vars   map[int32]*grown
	end    int64 // end of the containers; in layouts A and B, end of the file
	open   bool  // the last block belongs to the checkpoint that is being written
	n      int   // containers
}

// grown holds the containers of a variable.
type grown struct {
	at   []slot
	room int64 // sum of the sizes of its containers
	idx  int32
}

// slot identifies a container: blocks[block].Containers[index]. seq is its number in file order.
type slot struct{ block, index, seq int }

func newGrowth(l Layout) *growth {
	g := &growth{layout: l, vars: map[int32]*grown{}}
	if !l.atEnd() {
		g.end = l.fbSize()
	}
	return g
}

// growthOf returns a growth that continues from the containers of a file.
func growthOf(f *File) *growth {
	g := newGrowth(f.Layout)
	g.blocks = make([]Block, len(f.Blocks))
	for i := range f.Blocks {
		b := &f.Blocks[i]
		g.blocks[i] = Block{Offset: b.Offset, Size: b.Size, Containers: slices.Clone(b.Containers)}
		if !g.layout.atEnd() {
			g.end += g.layout.blockMeta(len(b.Containers))
		}
		for j := range b.Containers {
			c := &b.Containers[j]
			v := g.variable(c.ID)
			if g.layout.table().vmd.idx.len > 0 {
				v.idx = c.Idx
			}
			v.at = append(v.at, slot{i, j, g.n})
			v.room += c.ContainerSize
			g.end += c.ContainerSize
			g.n++
		}
	}
	return g
}

func (g *growth) clone() *growth {
	c := *g
	c.blocks = slices.Clone(g.blocks)
	for i := range c.blocks {
		c.blocks[i].Containers = slices.Clone(c.blocks[i].Containers)
	}
	c.vars = make(map[int32]*grown, len(g.vars))
	for id, v := range g.vars {
		w := *v
		w.at = slices.Clone(v.at)
		c.vars[id] = &w
	}
	c.open = false
	return &c
}

// variable returns the variable with this id. If there is none, it adds the variable at the end of the table.
func (g *growth) variable(id int32) *grown {
	v := g.vars[id]
	if v == nil {
		v = &grown{idx: int32(len(g.vars))}
		g.vars[id] = v
	}
	return v
}

func (g *growth) container(s slot) *Container { return &g.blocks[s.block].Containers[s.index] }

// fit sets chunk sizes and content flags in the containers of a variable of size bytes. It returns the number of bytes that do
// not fit, and whether the variable needs another container. A new variable needs a container even if it is empty.
func (g *growth) fit(id int32, size int64) (rest int64, more bool) {
	v := g.variable(id)
	rest = size
	ended := false
	for _, s := range v.at {
		c := g.container(s)
		switch {
		case ended:
			c.ChunkSize, c.HasContent = 0, false
		case rest > c.ContainerSize:
			c.ChunkSize, c.HasContent = c.ContainerSize, true
			rest -= c.ContainerSize
		default:
			c.ChunkSize, c.HasContent = rest, true
			rest, ended = 0, true
		}
	}
	return rest, rest > 0 || len(v.at) == 0
}

// add makes containers for the bytes that did not fit, in the block of the current checkpoint. In layouts A and B a checkpoint
// may call add only once, because the place of the data depends on the number of containers in the block.
func (g *growth) add(vars ...VarSize) error {
	if len(vars) == 0 {
		return nil
	}
	if !g.open {
		g.blocks = append(g.blocks, Block{Offset: g.end})
		g.open = true
		if !g.layout.atEnd() {
			n := g.layout.blockMeta(len(vars))
			g.blocks[len(g.blocks)-1].Size = n
			g.end += n
		}
	}
	k := len(g.blocks) - 1
	b := &g.blocks[k]
	for _, s := range vars {
		v := g.variable(s.ID)
		if s.Size > maxOffset-g.end || len(v.at) == math.MaxInt32 {
			return fault.Usage("variable %d: %d more bytes at %d exceed the maximum file size", s.ID, s.Size, g.end)
		}
		b.Containers = append(b.Containers, Container{
			ID: s.ID, Idx: v.idx, ContainerID: int32(len(v.at)), HasContent: true,
			Dptr: v.room, Fptr: g.end, ChunkSize: s.Size, ContainerSize: s.Size,
		})
		v.at = append(v.at, slot{k, len(b.Containers) - 1, g.n})
		v.room += s.Size
		g.n++
		g.end += s.Size
		b.Size += s.Size
	}
	return nil
}

// grow calls fit for all variables of a checkpoint, and then add once.
func (g *growth) grow(vars []VarSize) error {
	var more []VarSize
	for _, v := range vars {
		g.variable(v.ID) // the index in the table is the order of protection
	}
	for _, v := range vars {
		if rest, ok := g.fit(v.ID, v.Size); ok {
			more = append(more, VarSize{v.ID, rest})
		}
	}
	return g.add(more...)
}

// size returns the size of the file in bytes, with all metadata.
func (g *growth) size() int64 {
	if !g.layout.atEnd() {
		return g.end
	}
	n := g.end + g.layout.fbSize()
	for i := range g.blocks {
		n += g.layout.blockMeta(len(g.blocks[i].Containers))
	}
	return n
}
