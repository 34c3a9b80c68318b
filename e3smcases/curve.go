package e3smcases

import (
	"fmt"
	"math"
	"math/bits"
)

// A move describes how a cell of a refined curve derives its main axis and joiner from the main axis and joiner of its parent.
//
// HOMME orders the elements of a cube face along a curve. Each prime factor of ne adds a level of refinement: a Hilbert curve for
// 2, a meandering Peano curve for 3, and a "Cinco" curve for 5 (J. Dennis, 2003; module spacecurve_mod). The curve is walked cell
// by cell. The main axis and direction of a cell lead from the start to the end of the curve inside it. The joiner is the axis
// and direction of the step out of the cell. Refinement by p divides a cell into p x p cells.
type move struct {
	turnMain bool // the main axis is the parent's other axis
	flipMain bool // opposite to the parent's main direction
	join     joiner
}

// joiner is the step out of a sub-cell.
type joiner uint8

const (
	ahead  joiner = iota // along the sub-cell's own main axis and direction
	leave                // the step out of the parent
	main0                // along the parent's main axis, forward
	main1                // along the parent's main axis, backward
	other0               // along the parent's other axis, forward
	other1               // along the parent's other axis, backward
)

// Each rule lists the sub-cells in the order of the walk. A letter is the main axis of a sub-cell: m is the parent's main axis, o
// the other axis, and upper case means backward. A sign after the letter is the joiner: > and < are the parent's main axis
// forward and backward, ^ and v the other axis, and . is the joiner of the parent. Without a sign the joiner is ahead.
const (
	hilbertRule = "o m mv O."
	peanoRule   = "o o m m mv M O O> m."
	cincoRule   = "m m o o o< O M M^ o o m mv O> o m m mv M O O> mv M O O> m."
)

// moves parses a rule.
func moves(rule string) []move {
	var list []move
	for _, c := range rule {
		n := len(list) - 1
		switch c {
		case 'm':
			list = append(list, move{})
		case 'M':
			list = append(list, move{flipMain: true})
		case 'o':
			list = append(list, move{turnMain: true})
		case 'O':
			list = append(list, move{turnMain: true, flipMain: true})
		case '>':
			list[n].join = main0
		case '<':
			list[n].join = main1
		case '^':
			list[n].join = other0
		case 'v':
			list[n].join = other1
		case '.':
			list[n].join = leave
		}
	}
	return list
}

// heading is an axis (0 is i, 1 is j) and a direction along it (+1, -1).
type heading struct {
	axis int
	dir  int
}

// walker numbers the cells of an n x n face in the order of the curve.
type walker struct {
	rules [][]move // innermost factor first
	n     int
	pos   [2]int
	order []int32 // order[i*n+j] is the index of cell (i, j) in the curve
	next  int32
}

func (w *walker) walk(level int, main, join heading) {
	for _, m := range w.rules[level] {
		sub := main
		if m.turnMain {
			sub.axis ^= 1
		}
		if m.flipMain {
			sub.dir = -sub.dir
		}
		out := sub
		switch m.join {
		case leave:
			out = join
		case main0:
			out = main
		case main1:
			out = heading{main.axis, -main.dir}
		case other0:
			out = heading{main.axis ^ 1, main.dir}
		case other1:
			out = heading{main.axis ^ 1, -main.dir}
		}
		if level > 0 {
			w.walk(level-1, sub, out)
			continue
		}
		w.order[w.pos[0]*w.n+w.pos[1]] = w.next
		w.next++
		w.pos[out.axis] += out.dir
	}
}

// faceCurve returns the index in the curve of each cell (i, j) of an n x n face, at [i*n+j]. If n has factors other than 2, 3 and
// 5, the order follows the nearest cells of a Hilbert curve over the next power of two, as in HOMME.
func faceCurve(n int) ([]int32, error) {
	if n < 1 {
		return nil, fmt.Errorf("no curve for a face with %d elements per side", n)
	}
	w := walker{n: n, order: make([]int32, n*n)}
	rest := n
	for _, f := range []struct {
		factor int
		rule   string
	}{{2, hilbertRule}, {3, peanoRule}, {5, cincoRule}} {
		for rest%f.factor == 0 {
			w.rules = append(w.rules, moves(f.rule))
			rest /= f.factor
		}
	}
	if rest > 1 {
		return nearestCurve(n)
	}
	if n > 1 {
		w.walk(len(w.rules)-1, heading{0, 1}, heading{0, 1})
	}
	return w.order, nil
}

func nearestCurve(n int) ([]int32, error) {
	big := 1 << bits.Len(uint(n-1))
	curve, err := faceCurve(big)
	if err != nil {
		return nil, err
	}
	cell := make([]int32, big*big) // cell[i]: the small cell at index i of the big curve, from 1; 0: none
	near := make([]int, n)
	for i := range near {
		x := (float64(i)+0.5)/float64(n)*float64(big) + 0.5
		near[i] = min(max(int(math.Round(x)), 1), big) - 1
	}
	for i := range n {
		for j := range n {
			cell[curve[near[i]*big+near[j]]] = int32(i*n+j) + 1
		}
	}
	order := make([]int32, n*n)
	next := int32(0)
	for _, c := range cell {
		if c > 0 {
			order[c-1] = next
			next++
		}
	}
	if int(next) != n*n {
		return nil, fmt.Errorf("ne=%d has no curve: only %d of %d elements are reached", n, next, n*n)
	}
	return order, nil
}
