package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/recovery"
	"blobio/scr"
	"blobio/versioned"
	"blobio/versioned/rerun"
)

// solver computes; package rerun does all else. See grid.go for what it computes.
type solver struct {
	settings
	c      comm.Comm
	levels []*level
	r      *rerun.Run
	next   map[int][]float64 // of the step that is being taken: new data of the own boxes
	done   bool              // the injector has struck
	copied [maxLevels][]float64
}

const maxLevels = 6

// newSolver starts at time 0, or where the last snapshot of the store is.
func newSolver(ctx context.Context, c comm.Comm, o settings) (*solver, error) {
	s := &solver{settings: o, c: c}
	for l := range o.sub.Levels {
		s.levels = append(s.levels, newLevel(l, o.boxSide()))
	}
	cadence := o.cadence
	if o.copies {
		cadence = make(recovery.Cadence, o.sub.Levels)
	}
	options := &rerun.Options{Versions: &versioned.Options{Durability: o.durable}}
	if o.deep != nil {
		options.Snapshot = func(ctx context.Context, h *versioned.Hierarchy, n int64) error {
			parts, err := h.Parts(n)
			if err != nil {
				return err
			}
			return o.deep.Commit(ctx, fmt.Sprint("snapshot", n), scr.Checkpoint, parts...)
		}
		h, err := restart(ctx, c, o.deep)
		if err == nil {
			if s.r, err = rerun.Of(ctx, c, h, s, options); err == nil {
				s.handlers()
			}
			return s, err
		}
		if !errors.Is(err, versioned.ErrMissing) {
			return nil, err
		}
	}
	var err error
	s.r, err = rerun.Open(ctx, c, o.store, versioned.HierarchySpec{Name: "phi", Dim: 2, Comps: []string{"phi", "phi_old"},
		Subcycling: o.sub, Dx: 1 / float64(wide*o.boxSide()), Config: recovery.Config{Cadence: cadence, Extra: 0.5}, Chunk: 4096,
		// What a rollback may need: the versions since the last coarse step that was saved, and those of the snapshots.
		Keep: versioned.Retention{Last: 4 * o.sub.Steps(o.sub.Levels-1)}, Snapshots: versioned.Retention{Last: 4}}, s, options)
	if err != nil {
		return nil, err
	}
	s.handlers()
	return s, nil
}

// handlers registers what this program does besides: the job ends where the injector says so.
func (s *solver) handlers() {
	s.r.Registry.On("", recovery.Pred{recovery.Is("kind", "abort")}, 0, func(context.Context, recovery.Event) error { return errAborted })
}

// run takes all steps.
func (s *solver) run(ctx context.Context) error {
	if err := s.r.Go(ctx, s.steps); err != nil || s.keep {
		return err
	}
	return s.r.Close(ctx)
}

// plan is that of the last recovery, nil if there was none.
func (s *solver) plan() *recovery.Plan {
	all := s.r.Stats.Recoveries
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1].Plan
}

const limit = 0.03

// place gives a level boxes, and its own ones values.
func (s *solver) place(ctx context.Context, l int, tiles []tile, value func(t tile, k int) float64) error {
	v := s.levels[l]
	cells := v.cells()
	alive := s.alive()
	owner := make([]int, len(tiles))
	for i := range owner {
		owner[i] = alive[(i+l)%len(alive)]
	}
	data := map[int][]float64{}
	for i, t := range tiles {
		if owner[i] == s.c.Rank() {
			d := make([]float64, 2*cells)
			for k := range cells {
				d[k] = value(t, k)
			}
			copy(d[cells:], d[:cells])
			data[i] = d
		}
	}
	v.set(tiles, owner)
	v.data = data
	return v.exchange(ctx, s.c)
}

func (s *solver) alive() (out []int) {
	if s.r != nil {
		return s.r.Alive()
	}
	for r := range s.c.Size() {
		out = append(out, r)
	}
	return out
}

// Start implements rerun.Solver.
func (s *solver) Start(ctx context.Context) error {
	var tiles []tile
	for j := range int32(wide) {
		for i := range int32(wide) {
			tiles = append(tiles, tile{i, j})
		}
	}
	for l := range s.levels {
		if l > 0 {
			tiles = s.levels[l-1].flagged(limit / float64(int(1)<<l))
		}
		if err := s.place(ctx, l, tiles, func(t tile, k int) float64 {
			n, side := float64(s.levels[l].n), int(s.levels[l].side)
			return bump((float64(int(t[0])*side+k%side)+0.5)/n, (float64(int(t[1])*side+k/side)+0.5)/n)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Regrid implements rerun.Solver: it follows the bump with the fine levels.
func (s *solver) Regrid(ctx context.Context, coarse int64) (changed []int, err error) {
	if coarse%s.regrid != 0 {
		return nil, nil
	}
	for l := 1; l < len(s.levels); l++ {
		old, up := *s.levels[l], s.levels[l-1]
		err := s.place(ctx, l, up.flagged(limit/float64(int(1)<<l)), func(t tile, k int) float64 {
			side := old.side
			i, j := t[0]*side+int32(k)%side, t[1]*side+int32(k)/side
			if x, ok := old.at(i, j, 1); ok {
				return x
			}
			x, _ := up.at(i/ratio, j/ratio, 1)
			return x
		})
		if err != nil {
			return nil, err
		}
		changed = append(changed, l)
	}
	return changed, nil
}

// ghost is a cell of level l at the beginning of its step k: from its own boxes, or from coarser ones, between the
// beginning and the end of the step that they have taken already.
func (s *solver) ghost(l, k int, i, j int32) float64 {
	n := s.levels[l].n
	i, j = (i+n)%n, (j+n)%n
	if x, ok := s.levels[l].at(i, j, 1); ok {
		return x
	}
	for p, span := l-1, ratio; ; p, span = p-1, span*ratio {
		i, j = i/ratio, j/ratio
		if x, ok := s.levels[p].at(i, j, float64(k%span)/float64(span)); ok {
			return x
		}
	}
}

// box computes one box from the state at the beginning of the step.
func (s *solver) box(at recovery.Step, i int, old []float64) []float64 {
	t, side := s.levels[at.Level].tiles[i], s.levels[at.Level].side
	return advance(side, old, func(x, y int32) float64 { return s.ghost(at.Level, at.Index, t[0]*side+x, t[1]*side+y) })
}

// Step implements rerun.Solver.
func (s *solver) Step(_ context.Context, now recovery.Moment) (event *recovery.Event, err error) {
	at := now.Step
	v := s.levels[at.Level]
	if s.copies { // what Save would put, into memory that is used again
		b := s.copied[at.Level][:0]
		for _, d := range v.data {
			b = append(b, d...)
		}
		s.copied[at.Level] = b
	}
	s.next = map[int][]float64{}
	for i := range v.tiles {
		if v.owner[i] != s.c.Rank() {
			continue
		}
		s.next[i] = s.box(at, i, v.data[i])
		s.corrupt(now, i)
		n := v.cells()
		if e := s.r.Inspect(now, i, s.next[i][:n], v.data[i][:n], nil, eps, func(k int) float64 { return s.box(at, i, v.data[i])[k] }); e != nil {
			event = e
		}
	}
	if e, err := s.strike(now); e != nil || err != nil {
		return e, err
	}
	return event, nil
}

// StepBox implements rerun.BoxSolver.
func (s *solver) StepBox(_ context.Context, now recovery.Moment, box int, data []float64) error {
	s.next[box] = s.box(now.Step, box, data)
	return nil
}

// Accept implements rerun.Solver.
func (s *solver) Accept(ctx context.Context, now recovery.Moment) error {
	v := s.levels[now.Step.Level]
	v.data = s.next
	return v.exchange(ctx, s.c)
}

// Average implements rerun.Solver: it brings the values of level l+1 down to l.
func (s *solver) Average(ctx context.Context, at recovery.Moment) error {
	l := at.Step.Level
	v, f := s.levels[l], s.levels[l+1]
	side := v.side
	for i, t := range v.tiles {
		if v.owner[i] != s.c.Rank() {
			continue
		}
		d := slices.Clone(v.data[i])
		for k := range side * side {
			x, y := ratio*(t[0]*side+k%side), ratio*(t[1]*side+k/side)
			a, ok := f.at(x, y, 1)
			if !ok {
				continue
			}
			b, _ := f.at(x+1, y, 1)
			c, _ := f.at(x, y+1, 1)
			e, _ := f.at(x+1, y+1, 1)
			d[k] = (a + b + c + e) / 4
		}
		v.data[i] = d
	}
	return v.exchange(ctx, s.c)
}

// Boxes implements rerun.Solver.
func (s *solver) Boxes(level int) []versioned.BoxInfo { return s.levels[level].boxes() }

// Data implements rerun.Solver.
func (s *solver) Data(level int) map[int][]float64 { return s.levels[level].data }

// Set implements rerun.Solver.
func (s *solver) Set(ctx context.Context, level int, boxes []versioned.BoxInfo, data map[int][]float64) error {
	v := s.levels[level]
	v.from(boxes)
	v.data = data
	return v.exchange(ctx, s.c)
}

// result is the final state: all boxes of all levels, from the views.
func (s *solver) result() []byte {
	var b []byte
	for _, v := range s.levels {
		for i, t := range v.tiles {
			b = fmt.Appendf(b, "%v", t)
			b = append(b, versioned.Bytes(v.view[i])...)
		}
	}
	return b
}
