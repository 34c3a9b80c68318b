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

// The solver computes shallow water (height and two momenta) in 2-D with periodic borders. It uses finite volumes with Rusanov's
// flux, and subcycling.
const (
	comps = 3
	usual = 16 // number of cells of level 0 per dimension
	ratio = 2
	cfl   = 0.12
)

// field is a level as this rank knows it. It has the values of all cells; values of other ranks are from the last exchange.
type field struct {
	n        int
	boxes    []versioned.BoxInfo
	has      []bool      // cells covered by boxes
	now, old [][]float64 // by component: now, and at the beginning of the level's step
	next     map[int][]float64
}

func newField(n int) *field {
	f := &field{n: n, has: make([]bool, n*n), next: map[int][]float64{}}
	for range comps {
		f.now, f.old = append(f.now, make([]float64, n*n)), append(f.old, make([]float64, n*n))
	}
	return f
}

func (f *field) cell(i, j int) int { return (j+f.n)%f.n*f.n + (i+f.n)%f.n }

// cells calls do for each cell of a box. k is the index of the cell in the box.
func (f *field) cells(b *versioned.BoxInfo, do func(k, cell, i, j int)) {
	k := 0
	for j := int(b.Lo[1]); j <= int(b.Hi[1]); j++ {
		for i := int(b.Lo[0]); i <= int(b.Hi[0]); i++ {
			do(k, f.cell(i, j), i, j)
			k++
		}
	}
}

// data returns the values of a box.
func (f *field) data(b *versioned.BoxInfo, values [][]float64) []float64 {
	n := int(b.Cells())
	out := make([]float64, comps*n)
	f.cells(b, func(k, cell, _, _ int) {
		for c := range values {
			out[c*n+k] = values[c][cell]
		}
	})
	return out
}

func (f *field) put(b *versioned.BoxInfo, values [][]float64, d []float64) {
	n := int(b.Cells())
	f.cells(b, func(k, cell, _, _ int) {
		for c := range values {
			values[c][cell] = d[c*n+k]
		}
	})
}

// lay sets the boxes of the level.
func (f *field) lay(boxes []versioned.BoxInfo) {
	f.boxes = boxes
	clear(f.has)
	for i := range boxes {
		f.cells(&boxes[i], func(_, cell, _, _ int) { f.has[cell] = true })
	}
}

// water is the solver.
type water struct {
	c      comm.Comm
	tile   int // side of a refined tile in coarse cells; a box is a row of one to three tiles
	levels []*field
	run    *recovery.Run
	fail   *injector
}

func newWater(c comm.Comm, cells int, fail *injector) *water {
	w := &water{c: c, tile: cells / 4, fail: fail}
	for l := range sub.Levels {
		w.levels = append(w.levels, newField(cells*sub.Steps(l)))
	}
	return w
}

func (w *water) alive() []int {
	if w.run != nil {
		return w.run.Alive()
	}
	var out []int
	for r := range w.c.Size() {
		out = append(out, r)
	}
	return out
}

// Start implements recovery.Solver. The initial state is a hump of water on a current.
func (w *water) Start(context.Context) error {
	for l, f := range w.levels {
		f.lay(w.cover(l))
		for j := range f.n {
			for i := range f.n {
				x, y := (float64(i)+0.5)/float64(f.n)-0.3, (float64(j)+0.5)/float64(f.n)-0.4
				h := 1 + 0.4*math.Exp(-(x*x+y*y)/0.01)
				for c, v := range []float64{h, 0.9 * h, 0.4 * h} {
					f.now[c][f.cell(i, j)] = v
				}
			}
		}
	}
	return nil
}

// cover returns the boxes of a level. Level 0 has four quarters. On other levels boxes are rows of tiles where the water is not
// flat, at least one tile away from the edges of the next coarser level.
func (w *water) cover(l int) (out []versioned.BoxInfo) {
	alive := w.alive()
	add := func(lo, hi [2]int) {
		out = append(out, versioned.BoxInfo{Lo: [3]int32{int32(lo[0]), int32(lo[1])}, Hi: [3]int32{int32(hi[0]), int32(hi[1])}, Owner: int32(alive[(len(out)+l)%len(alive)])})
	}
	if l == 0 {
		half := w.levels[0].n / 2
		for q := range 4 {
			x, y := q%2*half, q/2*half
			add([2]int{x, y}, [2]int{x + half - 1, y + half - 1})
		}
		return out
	}
	up, tile := w.levels[l-1], w.tile
	steep := func(x, y int) bool {
		some := false
		for j := -tile; j < 2*tile; j++ {
			for i := -tile; i < 2*tile; i++ {
				cell := up.cell(x*tile+i, y*tile+j)
				if !up.has[cell] {
					return false
				}
				in := i >= 0 && i < tile && j >= 0 && j < tile
				some = some || in && math.Abs(up.now[0][cell]-up.now[0][up.cell(x*tile+i+1, y*tile+j)])+math.Abs(up.now[0][cell]-up.now[0][up.cell(x*tile+i, y*tile+j+1)]) > 0.04/float64(int(1)<<l)
			}
		}
		return some
	}
	side := up.n / tile
	for y := range side {
		for x := 0; x < side; x++ {
			from := x
			for x < side && x-from < 3 && steep(x, y) { // a box has one to three tiles
				x++
			}
			if x > from {
				add([2]int{from * tile * ratio, y * tile * ratio}, [2]int{x*tile*ratio - 1, (y+1)*tile*ratio - 1})
				x--
			}
		}
	}
	return out
}

// Regrid implements recovery.Solver. It moves the fine levels with the wave.
func (w *water) Regrid(ctx context.Context, coarse int64) (changed []int, err error) {
	for l := 1; l < len(w.levels); l++ {
		f, up := w.levels[l], w.levels[l-1]
		boxes := w.cover(l)
		if slices.Equal(boxes, f.boxes) {
			continue
		}
		for j := range f.n {
			for i := range f.n {
				if k := f.cell(i, j); !f.has[k] {
					for c := range f.now {
						f.now[c][k] = up.now[c][up.cell(i/ratio, j/ratio)]
					}
				}
			}
		}
		f.lay(boxes)
		changed = append(changed, l)
	}
	return changed, nil
}

// value returns the value of a cell of level l at the beginning of its step k. If the level does not have the cell, the value is
// interpolated in time from coarser levels.
func (w *water) value(l, k, c, i, j int) float64 {
	f := w.levels[l]
	if cell := f.cell(i, j); f.has[cell] {
		return f.now[c][cell]
	}
	return w.coarse(l, k, 0, c, i, j)
}

// coarse returns the value of coarser levels at a cell, at the beginning (end = 0) or the end (end = 1) of step k of level l.
func (w *water) coarse(l, k, end, c, i, j int) float64 {
	f := w.levels[l]
	i, j = (i+f.n)%f.n, (j+f.n)%f.n
	for p, span := l-1, ratio; ; p, span = p-1, span*ratio {
		i, j = i/ratio, j/ratio
		if g := w.levels[p]; g.has[g.cell(i, j)] {
			at := float64(k%span+end) / float64(span)
			return g.old[c][g.cell(i, j)]*(1-at) + g.now[c][g.cell(i, j)]*at
		}
	}
}

// box returns the values of a box after a step.
func (w *water) box(at versioned.Step, b *versioned.BoxInfo) []float64 {
	f := w.levels[at.Level]
	n := int(b.Cells())
	out := make([]float64, comps*n)
	get := func(i, j int) (u [comps]float64) {
		for c := range u {
			u[c] = w.value(at.Level, at.Index, c, i, j)
		}
		return u
	}
	f.cells(b, func(k, _, i, j int) {
		u := get(i, j)
		west, east, south, north := flux(get(i-1, j), u, 1), flux(u, get(i+1, j), 1), flux(get(i, j-1), u, 2), flux(u, get(i, j+1), 2)
		for c := range u {
			out[c*n+k] = u[c] - cfl*(east[c]-west[c]+north[c]-south[c])
		}
	})
	return out
}

// flux returns the flux through the face between two cells, in the direction of momentum d.
func flux(a, b [comps]float64, d int) (out [comps]float64) {
	speed := 0.0
	side := func(u [comps]float64) (f [comps]float64) {
		v := u[d] / u[0]
		speed = max(speed, math.Abs(v)+math.Sqrt(u[0]))
		for c := range f {
			f[c] = u[c] * v
		}
		f[d] += u[0] * u[0] / 2
		return f
	}
	fa, fb := side(a), side(b)
	for c := range out {
		out[c] = (fa[c]+fb[c])/2 - speed/2*(b[c]-a[c])
	}
	return out
}

// largest is the maximum plausible change of a value in a step.
const largest = 1.0

// Step implements recovery.Solver.
func (w *water) Step(_ context.Context, at recovery.Moment) (event *recovery.Event, err error) {
	f := w.levels[at.Step.Level]
	clear(f.next)
	for i := range f.boxes {
		if b := &f.boxes[i]; int(b.Owner) == w.c.Rank() {
			f.next[i] = w.box(at.Step, b)
			w.fail.spoil(w, at, i)
			if e := w.inspect(at, i); e != nil {
				event = e
			}
		}
	}
	if e, err := w.fail.strike(w, at); e != nil || err != nil {
		return e, err
	}
	return event, nil
}

// inspect checks a new box for impossible values.
func (w *water) inspect(at recovery.Moment, i int) *recovery.Event {
	f := w.levels[at.Step.Level]
	if w.fail.blind() {
		return nil
	}
	return w.run.Inspect(at, i, f.next[i], f.data(&f.boxes[i], f.now), largest, func(k int) float64 { return w.fail.again(at, k, w.box(at.Step, &f.boxes[i])[k]) })
}

// StepBox implements recovery.BoxSolver.
func (w *water) StepBox(_ context.Context, at recovery.Moment, box int, data []float64) error {
	f := w.levels[at.Step.Level]
	f.put(&f.boxes[box], f.now, data)
	f.next[box] = w.box(at.Step, &f.boxes[box])
	w.fail.spoil(w, at, box)
	if w.inspect(at, box) != nil {
		return errors.New("values are as wrong as before")
	}
	return nil
}

// Forward implements recovery.ForwardSolver. It takes the values of coarser cells. It estimates their error as half the
// difference to the neighbouring cells.
func (w *water) Forward(_ context.Context, at recovery.Moment, box int) (estimate float64, err error) {
	l, k := at.Step.Level, at.Step.Index
	f := w.levels[l]
	b := &f.boxes[box]
	n := int(b.Cells())
	d := make([]float64, comps*n)
	f.cells(b, func(cell, _, i, j int) {
		for c := range comps {
			v := w.coarse(l, k, 1, c, i, j)
			d[c*n+cell] = v
			for _, o := range [][2]int{{ratio, 0}, {-ratio, 0}, {0, ratio}, {0, -ratio}} {
				estimate = max(estimate, math.Abs(w.coarse(l, k, 1, c, i+o[0], j+o[1])-v)/2)
			}
		}
	})
	f.next[box] = d
	return estimate, nil
}

// Accept implements recovery.Solver.
func (w *water) Accept(ctx context.Context, at recovery.Moment) error {
	w.fail.die(w, at)
	f := w.levels[at.Step.Level]
	for c := range f.now {
		copy(f.old[c], f.now[c])
	}
	for i, d := range f.next {
		f.put(&f.boxes[i], f.now, d)
	}
	if err := w.exchange(ctx, f, f.now); err != nil {
		return err
	}
	w.fail.flip(w, at)
	return nil
}

// exchange sends the values of each rank's boxes to all ranks.
func (w *water) exchange(ctx context.Context, f *field, values [][]float64) error {
	var b []byte
	for i := range f.boxes {
		if x := &f.boxes[i]; int(x.Owner) == w.c.Rank() {
			b = binary.NativeEndian.AppendUint64(b, uint64(i))
			b, _ = binary.Append(b, binary.NativeEndian, f.data(x, values))
		}
	}
	parts, err := w.c.Allgather(ctx, b)
	if err != nil {
		return err
	}
	for _, b := range parts {
		for len(b) > 0 {
			x := &f.boxes[binary.NativeEndian.Uint64(b)]
			d := make([]float64, comps*x.Cells())
			n, err := binary.Decode(b[8:], binary.NativeEndian, d)
			if err != nil {
				return err
			}
			b = b[8+n:]
			f.put(x, values, d)
		}
	}
	return nil
}

// Average implements recovery.Solver.
func (w *water) Average(_ context.Context, at recovery.Moment) error {
	f, g := w.levels[at.Step.Level], w.levels[at.Step.Level+1]
	for j := range f.n {
		for i := range f.n {
			if k := f.cell(i, j); f.has[k] && g.has[g.cell(2*i, 2*j)] {
				for c := range f.now {
					v := g.now[c]
					f.now[c][k] = (v[g.cell(2*i, 2*j)] + v[g.cell(2*i+1, 2*j)] + v[g.cell(2*i, 2*j+1)] + v[g.cell(2*i+1, 2*j+1)]) / 4
				}
			}
		}
	}
	return nil
}

// Boxes implements recovery.Solver.
func (w *water) Boxes(level int) []versioned.BoxInfo { return w.levels[level].boxes }

// Data implements recovery.Solver.
func (w *water) Data(level int) map[int][]float64 {
	f, out := w.levels[level], map[int][]float64{}
	for i := range f.boxes {
		if b := &f.boxes[i]; int(b.Owner) == w.c.Rank() {
			out[i] = f.data(b, f.now)
		}
	}
	return out
}

// Set implements recovery.Solver. It also exchanges the coarser levels, although they did not change, because a rank may have
// lost the values that it received from other ranks.
func (w *water) Set(ctx context.Context, level int, boxes []versioned.BoxInfo, data map[int][]float64) error {
	f := w.levels[level]
	f.lay(boxes)
	for i, d := range data {
		f.put(&boxes[i], f.now, d)
	}
	for l := range level + 1 {
		for _, v := range [][][]float64{w.levels[l].now, w.levels[l].old} {
			if err := w.exchange(ctx, w.levels[l], v); err != nil {
				return err
			}
		}
	}
	return nil
}

// result returns the final state: boxes and values of all levels.
func (w *water) result() (b []byte) {
	for _, f := range w.levels {
		for i := range f.boxes {
			x := &f.boxes[i]
			b = binary.LittleEndian.AppendUint32(b, uint32(x.Lo[0])<<16|uint32(x.Lo[1]))
			b, _ = binary.Append(b, binary.NativeEndian, f.data(x, f.now))
		}
	}
	return b
}
