package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"fmt"
	"slices"
)

// Scope is the extent of the state that an error reverts.
type Scope uint8

const (
	Box    Scope = iota // one box of one level
	Levels              // a level and all finer ones
	Global              // all levels
	Abort               // recovery is impossible
)

var scopeNames = [...]string{"box", "levels", "global", "abort"}

func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("Scope(%d)", uint8(s))
}

// Moment is a point in a run: the coarse step and the step in it at which an error was found. The step has been computed, or was
// in progress. Its values have not been averaged to a coarser level, and nothing was saved since.
type Moment struct {
	Coarse int64
	Step   versioned.Step
}

// Plan is a plan for a recovery. Levels From.Level ... Lmax return to the beginning of step From. Then the steps of Redo are
// repeated in order, with averaging and with the versions that are due. With Scope Box only the box returns and takes the step
// again.
type Plan struct {
	Scope  Scope
	Coarse int64 // the coarse step to return to; equals Moment.Coarse unless the plan uses an older snapshot
	From   versioned.Step
	Redo   []versioned.Step // steps of coarse step Coarse and later ones, in order
}

// Planner plans recoveries.
type Planner struct {
	versioned.Subcycling
	Cadence versioned.Cadence
}

// Validate checks levels, ratio and cadence.
func (p *Planner) Validate() error { return p.Cadence.Validate(p.Subcycling) }

// base returns level m of rule R for an error in level: the finest level, not finer than level, whose current step began with a
// save; -1: none.
func (p *Planner) base(level int, at Moment) int {
	for l := level; l >= 0; l-- {
		if p.Cadence.Saved(versioned.Step{Level: l, Index: p.At(l, at.Step)}, at.Coarse) {
			return l
		}
	}
	return -1
}

// snapshot returns the last coarse step up to coarse at whose beginning all levels were saved; -1 if there is none.
func (p *Planner) snapshot(coarse int64) int64 {
	if c := int64(p.Cadence[0]); c > 0 {
		return coarse - coarse%c
	}
	return -1
}

// Corruption plans for wrong data in a box of the level of at.Step, found after that step was computed (rule R).
func (p *Planner) Corruption(at Moment) (Plan, error) {
	if err := p.check(at); err != nil {
		return Plan{}, err
	}
	return p.rollback(p.base(at.Step.Level, at), at, true)
}

// rollback plans the return of levels m ... Lmax to the beginning of the step of m. box allows the scope Box.
func (p *Planner) rollback(m int, at Moment, box bool) (Plan, error) {
	if m < 0 {
		return p.older(at)
	}
	from := versioned.Step{Level: m, Index: p.At(m, at.Step)}
	pl := Plan{Scope: Levels, Coarse: at.Coarse, From: from, Redo: p.between(from, at.Step)}
	switch {
	case box && m == at.Step.Level:
		pl.Scope, pl.Redo = Box, []versioned.Step{at.Step}
	case m == 0:
		pl.Scope = Global
	}
	return pl, nil
}

// older plans the return of all levels to the last global snapshot.
func (p *Planner) older(at Moment) (Plan, error) {
	c := p.snapshot(at.Coarse)
	if c < 0 {
		return Plan{Scope: Abort}, fmt.Errorf("error in %v of coarse step %d: no level was saved at the beginning of its step, and there is no global snapshot: %w", at.Step, at.Coarse, ErrNoRecovery)
	}
	pl := Plan{Scope: Global, Coarse: c}
	for k := c; k < at.Coarse; k++ {
		pl.Redo = slices.AppendSeq(pl.Redo, p.Order())
	}
	pl.Redo = append(pl.Redo, p.between(versioned.Step{}, at.Step)...)
	return pl, nil
}

func (p *Planner) check(at Moment) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if at.Coarse < 0 {
		return fault.Usage("coarse step %d", at.Coarse)
	}
	return p.valid(at.Step)
}

// between lists the steps from the beginning of step from through step to.
func (p *Planner) between(from, to versioned.Step) []versioned.Step {
	var out []versioned.Step
	for x := range p.Order() {
		if len(out) > 0 || x == from {
			out = append(out, x)
		}
		if x == to {
			break
		}
	}
	return out
}

// valid checks that the step exists.
func (p *Planner) valid(at versioned.Step) error {
	if at.Level < 0 || at.Level >= p.Levels || at.Index < 0 || at.Index >= p.Steps(at.Level) {
		return fault.Usage("step %v does not exist in a run of %d levels with ratio %d", at, p.Levels, p.Ratio)
	}
	return nil
}

// written reports whether a version of the level is saved at the beginning of its step. The reason is its own cadence or the save
// of a coarser level at the same time.
func (p *Planner) written(at versioned.Step, coarse int64) bool {
	for l := range at.Level + 1 {
		if p.Begins(l, at) && p.Cadence.Saved(versioned.Step{Level: l, Index: p.At(l, at)}, coarse) {
			return true
		}
	}
	return false
}

// Loss plans for ranks that are lost or whose memory cannot be trusted. owners[level][box] is the rank of a box. The run goes
// back to the beginning of a step of the coarsest level with boxes on those ranks, or of the level of at if that is coarser. If
// that level was not saved then, rule R continues with a coarser level, because no version has a level in the middle of its step
// or after averaging. The other ranks also read their data of these levels from versions. If the lost ranks had no boxes, the
// plan has no steps, and the run continues after step at.
func (p *Planner) Loss(at Moment, owners [][]int, lost []int) (Plan, error) {
	if err := p.check(at); err != nil {
		return Plan{}, err
	}
	if len(owners) != p.Levels {
		return Plan{}, fault.Usage("owners of %d levels, want %d levels", len(owners), p.Levels)
	}
	for l, boxes := range owners {
		if slices.ContainsFunc(boxes, func(r int) bool { return slices.Contains(lost, r) }) {
			return p.rollback(p.base(min(l, at.Step.Level), at), at, false)
		}
	}
	return Plan{From: at.Step, Coarse: at.Coarse}, nil
}
