package main

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"blobio/comm"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// lattice is a chaotic coupled map on a ring, with two numbers in [0, 1] for each cell. A change of the last bit of a value
// affects its first bit about 50 steps later. Boxes of the finer levels move, vary in size, appear and vanish. Each rank
// separates the data of its own boxes from data received from others.
type lattice struct {
	c      comm.Comm
	run    *recovery.Run
	levels []*ring
	sub    versioned.Subcycling
	faults *faults
}

// ring is a level.
type ring struct {
	n           int
	boxes       []versioned.BoxInfo
	own, was    map[int][]float64 // data of this rank's boxes: current, and at the beginning of the level's step
	next        map[int][]float64
	all, before [][]float64 // data of all boxes, by box, as last exchanged
	at          []int       // by cell: number of its box + 1, or 0
}

const coarsestCells = 24

func newLattice(c comm.Comm, sub versioned.Subcycling, f *faults) *lattice {
	x := &lattice{c: c, sub: sub, faults: f}
	for l := range sub.Levels {
		n := coarsestCells * sub.Steps(l)
		x.levels = append(x.levels, &ring{n: n, at: make([]int, n), own: map[int][]float64{}, was: map[int][]float64{}, next: map[int][]float64{}})
	}
	return x
}

func (x *lattice) alive() []int {
	if x.run != nil {
		return x.run.Alive()
	}
	return []int{0, x.c.Size() - 1}
}

// lay sets the boxes of the level without data.
func (r *ring) lay(boxes []versioned.BoxInfo) {
	r.boxes = slices.Clone(boxes)
	clear(r.at)
	r.all, r.before = make([][]float64, len(boxes)), make([][]float64, len(boxes))
	for b := range boxes {
		n := boxes[b].Cells()
		r.all[b], r.before[b] = make([]float64, 2*n), make([]float64, 2*n)
		for i := boxes[b].Lo[0]; i <= boxes[b].Hi[0]; i++ {
			r.at[i] = b + 1
		}
	}
}

// get returns component k of cell i. data has the values by box. The result is false if no box has the cell.
func (r *ring) get(data [][]float64, k, i int) (float64, bool) {
	i = (i + r.n) % r.n
	b := r.at[i] - 1
	if b < 0 {
		return 0, false
	}
	return data[b][k*int(r.boxes[b].Cells())+i-int(r.boxes[b].Lo[0])], true
}

// value returns the value of a cell of a level at the beginning of its step. If necessary, it interpolates a coarser level
// between the beginning and the end of that level's step. Step -1 means that all levels are at the same time.
func (x *lattice) value(l, step, k, i int) float64 {
	if v, ok := x.levels[l].get(x.levels[l].all, k, i); ok {
		return v
	}
	i = (i + x.levels[l].n) % x.levels[l].n
	for p, span := l-1, x.sub.Ratio; ; p, span = p-1, span*x.sub.Ratio {
		i /= x.sub.Ratio
		if now, ok := x.levels[p].get(x.levels[p].all, k, i); ok {
			if step < 0 {
				return now
			}
			was, _ := x.levels[p].get(x.levels[p].before, k, i)
			at := float64(step%span) / float64(span)
			return was*(1-at) + now*at
		}
	}
}

func (x *lattice) Start(context.Context) error {
	for l, r := range x.levels {
		r.lay(x.cover(l, 0))
		for b := range r.boxes {
			n := int(r.boxes[b].Cells())
			for c := range n {
				i := float64(int(r.boxes[b].Lo[0])+c) / float64(r.n)
				r.all[b][c], r.all[b][n+c] = 0.5+0.4*math.Sin(7*i+1), i
			}
			copy(r.before[b], r.all[b])
			x.keep(r, b)
		}
	}
	return nil
}

// keep copies the received data of a box to this rank's data if the rank owns the box.
func (x *lattice) keep(r *ring, b int) {
	if int(r.boxes[b].Owner) == x.c.Rank() {
		r.own[b], r.was[b] = slices.Clone(r.all[b]), slices.Clone(r.before[b])
	}
}

// cover makes the boxes of a level. Boxes of a finer level are inside those boxes of the next coarser level whose middle value
// is high.
func (x *lattice) cover(l int, coarse int64) (out []versioned.BoxInfo) {
	alive := x.alive()
	add := func(lo, hi int) {
		b := versioned.BoxInfo{Owner: int32(alive[(2*len(out)+l+int(coarse))%len(alive)])}
		b.Lo[0], b.Hi[0] = int32(lo), int32(hi)
		out = append(out, b)
	}
	if l == 0 {
		for _, b := range [][2]int{{0, 4}, {5, 6}, {7, 15}, {16, 23}} {
			add(b[0], b[1])
		}
		return out
	}
	up := x.levels[l-1]
	for b := range up.boxes {
		n := int(up.boxes[b].Cells())
		if coarse > 0 && !(up.all[b][n/2] > 0.3) || n < 3 || l > 1 && b == 1 {
			continue
		}
		lo, hi := int(up.boxes[b].Lo[0]), int(up.boxes[b].Hi[0])
		lo += 1 + int(coarse)%max(n-2, 1)/2
		mid := (lo + hi) / 2
		if add(lo*x.sub.Ratio, (mid+1)*x.sub.Ratio-1); mid+1 < hi && b%2 == 0 {
			add((mid+1)*x.sub.Ratio, hi*x.sub.Ratio-1)
		}
	}
	return out
}

func (x *lattice) Regrid(_ context.Context, coarse int64) (changed []int, err error) {
	for l := 1; l < len(x.levels); l++ {
		r := x.levels[l]
		boxes := x.cover(l, coarse)
		if slices.Equal(boxes, r.boxes) {
			continue
		}
		data := make([][]float64, len(boxes))
		for b := range boxes {
			for k := range 2 {
				for i := boxes[b].Lo[0]; i <= boxes[b].Hi[0]; i++ {
					data[b] = append(data[b], x.value(l, -1, k, int(i)))
				}
			}
		}
		r.lay(boxes)
		clear(r.own)
		clear(r.was)
		for b := range boxes {
			copy(r.all[b], data[b])
			copy(r.before[b], data[b])
			x.keep(r, b)
		}
		changed = append(changed, l)
	}
	return changed, nil
}

// compute returns the data of an own box after a step; d is the data before.
func (x *lattice) compute(at versioned.Step, b int, d []float64) []float64 {
	r := x.levels[at.Level]
	n := int(r.boxes[b].Cells())
	out := make([]float64, 2*n)
	f := func(u float64) float64 { return 3.97 * u * (1 - u) }
	for c := range n {
		near := func(k, by int) float64 {
			if c+by >= 0 && c+by < n {
				return d[k*n+c+by]
			}
			return x.value(at.Level, at.Index, k, int(r.boxes[b].Lo[0])+c+by)
		}
		u, v := d[c], d[n+c]
		out[c] = 0.8*f(u) + 0.1*(f(near(0, -1))+f(near(0, 1)))
		_, out[n+c] = math.Modf(v + 0.37*u + 0.11*(near(1, -1)+near(1, 1)))
	}
	return out
}

func (x *lattice) Step(_ context.Context, at recovery.Moment) (event *recovery.Event, err error) {
	r := x.levels[at.Step.Level]
	clear(r.next)
	for b := range r.boxes {
		if int(r.boxes[b].Owner) != x.c.Rank() {
			continue
		}
		r.next[b] = x.compute(at.Step, b, r.own[b])
		x.faults.spoil(x, at, b)
		if e := x.inspect(at, b, r.own[b]); e != nil {
			event = e
		}
	}
	if e, err := x.faults.strike(x, at); e != nil || err != nil {
		return e, err
	}
	return event, nil
}

// inspect looks for impossible values in a new box.
func (x *lattice) inspect(at recovery.Moment, b int, d []float64) *recovery.Event {
	if x.faults.blind() {
		return nil
	}
	return x.run.Inspect(at, b, x.levels[at.Step.Level].next[b], d, 1.5, func(i int) float64 { return x.compute(at.Step, b, d)[i] })
}

// boxLattice is a lattice that can recompute a single box.
type boxLattice struct{ *lattice }

func (x boxLattice) StepBox(_ context.Context, at recovery.Moment, box int, data []float64) error {
	r := x.levels[at.Step.Level]
	r.own[box] = data
	r.next[box] = x.compute(at.Step, box, data)
	x.faults.spoil(x.lattice, at, box)
	if x.inspect(at, box, data) != nil {
		return errors.New("as wrong as before")
	}
	return nil
}

func (x *lattice) Accept(ctx context.Context, at recovery.Moment) error {
	x.faults.dies(x, at)
	r := x.levels[at.Step.Level]
	for b, d := range r.next {
		r.was[b], r.own[b] = r.own[b], d
	}
	x.faults.flip(x, at)
	r.before, r.all = r.all, r.before
	return x.exchange(ctx, r.own, r.all)
}

// exchange sends this rank's data to all ranks.
func (x *lattice) exchange(ctx context.Context, own map[int][]float64, all [][]float64) error {
	var m []byte
	for b, d := range own {
		m = binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(m, uint64(b)), uint64(len(d)))
		m, _ = binary.Append(m, binary.NativeEndian, d)
	}
	parts, err := x.c.Allgather(ctx, m)
	for _, m := range parts {
		for len(m) > 0 && err == nil {
			b, n := binary.NativeEndian.Uint64(m), binary.NativeEndian.Uint64(m[8:])
			if int(b) >= len(all) || int(n) != len(all[b]) {
				return errors.New("data of another box")
			}
			_, err = binary.Decode(m[16:], binary.NativeEndian, all[b])
			m = m[16+8*n:]
		}
	}
	return err
}

func (x *lattice) Average(_ context.Context, at recovery.Moment) error {
	r, fine := x.levels[at.Step.Level], x.levels[at.Step.Level+1]
	for b := range r.boxes {
		n := int(r.boxes[b].Cells())
		for c := range n {
			for k := range 2 {
				sum, ok := 0.0, true
				for i := range x.sub.Ratio {
					v, has := fine.get(fine.all, k, (int(r.boxes[b].Lo[0])+c)*x.sub.Ratio+i)
					sum, ok = sum+v, ok && has
				}
				if ok {
					r.all[b][k*n+c] = sum / float64(x.sub.Ratio)
				}
			}
		}
		if int(r.boxes[b].Owner) == x.c.Rank() {
			r.own[b] = slices.Clone(r.all[b])
		}
	}
	return nil
}

func (x *lattice) Boxes(level int) []versioned.BoxInfo { return x.levels[level].boxes }

func (x *lattice) Data(level int) map[int][]float64 { return x.levels[level].own }

func (x *lattice) Set(ctx context.Context, level int, boxes []versioned.BoxInfo, data map[int][]float64) error {
	r := x.levels[level]
	was := r.was
	r.own, r.was, r.next = map[int][]float64{}, map[int][]float64{}, map[int][]float64{}
	for b, d := range data {
		r.own[b], r.was[b] = slices.Clone(d), slices.Clone(d)
		if len(was[b]) == len(d) { // the level may be in the middle of its step
			r.was[b] = was[b]
		}
	}
	r.lay(boxes)
	for _, r := range x.levels[:level+1] { // exchange again, because a rank may have lost received data
		if err := errors.Join(x.exchange(ctx, r.own, r.all), x.exchange(ctx, r.was, r.before)); err != nil {
			return err
		}
	}
	return nil
}

// result returns the state: all boxes, without their owners, and their data.
func (x *lattice) result() (out []byte) {
	for _, r := range x.levels {
		for b := range r.boxes {
			out = binary.LittleEndian.AppendUint32(out, uint32(r.boxes[b].Lo[0]))
			out, _ = binary.Append(out, binary.LittleEndian, r.all[b])
		}
	}
	return out
}
