package sfc

import (
	"math/bits"
	"slices"
)

// The curves of Cello's order_hilbert in one, two and three dimensions. A curve through a cube of 2^bits points per axis
// consists of 2^rank smaller curves of the same kind, with one bit less, one in each octant. The octants follow one another in
// the order of a Gray code, which is called the path here.
//
// A state is the start corner of a path and the axes of its steps. Start and end of the path differ only along the last axis,
// which is determined by the neighbouring curves. In three dimensions the order of the other two axes is free, and distinguishes
// the variants of the Hilbert curve. Only corners with an even number of ones are reached, so there are 4 states in two
// dimensions (two along each axis) and 12 in three.
type state struct {
	start uint8    // octant, bit 0 is x
	axes  [3]uint8 // step i of a path goes along axes[trailing ones of i]
}

// newState returns the state of a path from start to the other end of axis
// last.
func newState(rank int, start, last uint8) state {
	s := state{start: start}
	s.axes[rank-1] = last
	switch rank {
	case 2:
		s.axes[0] = 1 - last
	case 3:
		// These are the first axes of Enzo-E's curve. They were derived from the orders of blocks that Enzo-E writes.
		const x, y, z = 0, 1, 2
		switch last {
		case x:
			s.axes[0], s.axes[1] = z, y
		case y:
			s.axes[0], s.axes[1] = x, z
		case z:
			s.axes[0], s.axes[1] = x, y
		}
		if decides := [3]uint8{z, z, x}[last]; start>>decides&1 == 1 {
			s.axes[0], s.axes[1] = s.axes[1], s.axes[0]
		}
	}
	return s
}

// octant returns step i of the path of a state.
func (s state) octant(rank int, i uint8) uint8 {
	o, gray := s.start, i^i>>1
	for k := range rank {
		o ^= gray >> k & 1 << s.axes[k]
	}
	return o
}

// inside returns the state of the smaller curve at step i of the path. That curve starts at the corner that touches the curve
// before it, and ends at the corner that touches the next curve.
func (s state) inside(rank int, i uint8) state {
	start, last := s.start, s.axes[0]
	if i > 0 {
		j := (i - 1) &^ 1
		start = s.octant(rank, j)
		last = s.axes[bits.TrailingZeros8(^(j|1))%rank]
	}
	return newState(rank, start, last)
}

// curve is a Hilbert curve as a state machine; it starts in state 0.
type curve struct {
	place [][8]uint8 // by state and octant: step of the path
	next  [][8]uint8 // by state and step: the state of the smaller curve
}

// build finds all states that can be reached from the first state, whose path starts at the origin and ends along the last axis.
func build(rank int) curve {
	var c curve
	states := []state{newState(rank, 0, uint8(rank-1))}
	for s := 0; s < len(states); s++ {
		var place, next [8]uint8
		for i := range uint8(1 << rank) {
			o := states[s].octant(rank, i)
			place[o] = i
			in := states[s].inside(rank, i)
			at := slices.Index(states, in)
			if at < 0 {
				at = len(states)
				states = append(states, in)
			}
			next[i] = uint8(at)
		}
		c.place, c.next = append(c.place, place), append(c.next, next)
	}
	return c
}

// curves by rank.
var curves = [4]curve{1: build(1), 2: build(2), 3: build(3)}

// Hilbert returns the position of point p on the Hilbert curve through the cube of 2^bits points per axis, 0 < bits <= MaxBits,
// in rank dimensions (1 to 3). In one dimension the position is the coordinate. Coordinates beyond rank are ignored.
//
// The curve begins at the origin. The orientation depends on bits: with one more bit, the same points are visited by another of
// the symmetric curves.
func Hilbert(rank, bits int, p [3]uint32) Key { return HilbertPrefix(rank, bits, bits, p) }

// HilbertPrefix returns the position of the cube of 2^(bits-depth) points per axis that contains p. The result k is the result
// of Hilbert with the low rank*(bits-depth) bits set to zero. The keys of all points of the cube are in [k, k +
// 2^(rank*(bits-depth))).
func HilbertPrefix(rank, bits, depth int, p [3]uint32) Key {
	c := &curves[rank]
	var k Key
	state := uint8(0)
	depth = max(0, min(depth, bits))
	for b := bits - 1; b >= bits-depth; b-- {
		var o uint32
		for i := rank - 1; i >= 0; i-- {
			o = o<<1 | p[i]>>b&1
		}
		place := c.place[state][o]
		state = c.next[state][place]
		k = k.push(uint32(place), rank)
	}
	return k.shift(rank * (bits - depth))
}
