package main

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"blobio/comm"
	"blobio/versioned"
)

const (
	usual = 8 // cells of a box and dimension
	wide  = 2 // boxes of level 0 and dimension
	ratio = 2
)

// tile is the place of a box in the grid of boxes of its level.
type tile [2]int32

// level is one level as this rank has it: the boxes are known to all, data are those of its own, and view is what the
// last exchange has brought of all others. Of a box there are phi now, and phi at the beginning of the level's step.
type level struct {
	n     int32 // cells of the level and dimension
	side  int32 // of a box
	tiles []tile
	owner []int
	index map[tile]int
	data  map[int][]float64
	view  [][]float64
}

func newLevel(l int, side int32) *level {
	return &level{n: wide * side << l, side: side, index: map[tile]int{}}
}

// cells of a box.
func (v *level) cells() int { return int(v.side * v.side) }

// set gives the level its boxes, without data.
func (v *level) set(tiles []tile, owner []int) {
	v.tiles, v.owner = tiles, owner
	v.index = map[tile]int{}
	for i, t := range tiles {
		v.index[t] = i
	}
	v.data = map[int][]float64{}
	v.view = make([][]float64, len(tiles))
}

func (v *level) boxes() []versioned.BoxInfo {
	side := v.side
	out := make([]versioned.BoxInfo, len(v.tiles))
	for i, t := range v.tiles {
		out[i] = versioned.BoxInfo{Lo: [3]int32{t[0] * side, t[1] * side}, Hi: [3]int32{t[0]*side + side - 1, t[1]*side + side - 1}, Owner: int32(v.owner[i])}
	}
	return out
}

// from is the reverse of boxes.
func (v *level) from(boxes []versioned.BoxInfo) {
	side := v.side
	var tiles []tile
	var owner []int
	for _, b := range boxes {
		tiles = append(tiles, tile{b.Lo[0] / side, b.Lo[1] / side})
		owner = append(owner, int(b.Owner))
	}
	v.set(tiles, owner)
}

// exchange tells all ranks the data of all boxes. It is how ghost cells are filled.
func (v *level) exchange(ctx context.Context, c comm.Comm) error {
	var b []byte
	for i := range v.tiles {
		if v.owner[i] == c.Rank() {
			b = binary.NativeEndian.AppendUint64(b, uint64(i))
			b = append(b, versioned.Bytes(v.data[i])...)
		}
	}
	all, err := c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	for _, b := range all {
		for len(b) > 0 {
			i := binary.NativeEndian.Uint64(b)
			d := make([]float64, 2*v.cells())
			copy(versioned.Bytes(d), b[8:])
			v.view[i] = d
			b = b[8+8*len(d):]
		}
	}
	return nil
}

// at is the value of cell (i, j), periodic, of the level at the beginning of its step (frac 0) ... now (frac 1);
// false if no box has it.
func (v *level) at(i, j int32, frac float64) (float64, bool) {
	side := v.side
	i, j = (i+v.n)%v.n, (j+v.n)%v.n
	k, ok := v.index[tile{i / side, j / side}]
	if !ok {
		return 0, false
	}
	d := v.view[k]
	at := (j%side)*side + i%side
	if frac == 1 {
		return d[at], true
	}
	return d[v.cells()+int(at)]*(1-frac) + d[at]*frac, true
}

// advance computes one step of a box: upwind advection with the velocity (1, 1/2). ghost gives cells
// outside of the box.
func advance(side int32, old []float64, ghost func(i, j int32) float64) []float64 {
	const nux, nuy = 0.4, 0.2
	get := func(i, j int32) float64 {
		if i >= 0 && j >= 0 {
			return old[j*side+i]
		}
		return ghost(i, j)
	}
	cells := int(side * side)
	out := make([]float64, 2*cells)
	for j := range side {
		for i := range side {
			c := get(i, j)
			out[j*side+i] = c - nux*(c-get(i-1, j)) - nuy*(c-get(i, j-1))
		}
	}
	copy(out[cells:], old[:cells])
	return out
}

// bump is the state in the beginning.
func bump(x, y float64) float64 {
	r := math.Hypot(x-0.3, y-0.35)
	return math.Exp(-(r * r) / (2 * 0.06 * 0.06))
}

// flagged lists the tiles of the next finer level that are wanted: those in which the value changes by more than a
// limit, and which lie in boxes of this level with all their neighbours.
func (v *level) flagged(limit float64) []tile {
	side := v.side
	want := map[tile]bool{}
	for _, t := range v.tiles {
		for j := range side {
			for i := range side {
				gi, gj := t[0]*side+i, t[1]*side+j
				c, _ := v.at(gi, gj, 1)
				for _, d := range [][2]int32{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
					if x, ok := v.at(gi+d[0], gj+d[1], 1); ok && math.Abs(x-c) > limit {
						want[tile{2 * gi / side, 2 * gj / side}] = true
					}
				}
			}
		}
	}
	var out []tile
	for t := range want {
		half := side / ratio
		inside := true
		for _, d := range [][2]int32{{-1, -1}, {half, -1}, {-1, half}, {half, half}} {
			if _, ok := v.at(t[0]*half+d[0], t[1]*half+d[1], 1); !ok {
				inside = false
			}
		}
		if inside {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b tile) int {
		if a[1] != b[1] {
			return int(a[1] - b[1])
		}
		return int(a[0] - b[0])
	})
	return out
}
