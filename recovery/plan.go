package recovery

import (
	"blobio/internal/base/fault"
	"fmt"
	"slices"
)

// Scope says how much of the state an error takes back.
type Scope uint8

const (
	Box    Scope = iota // one box of one level
	Levels              // a level and all finer ones
	Global              // all levels
	Abort               // nothing can be done
)

var scopeNames = [...]string{"box", "levels", "global", "abort"}

func (s Scope) String() string {
	if int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("Scope(%d)", uint8(s))
}

// Moment is a point in a run: the coarse step, and the step that was being taken, or has just been,
// when the error was found: before its values were brought down to a coarser level, and before anything was saved since.
type Moment struct {
	Coarse int64
	Step   Step
}

// Plan is what to do. Levels From ... Lmax return to the beginning of step From.Index of From.Level,
// and the steps of Redo are taken again, in this order, with all that belongs to them: values of finer levels are brought down, and what
// is due is saved. With Scope Box only the box returns, and only it takes the step again.
type Plan struct {
	Scope  Scope
	Coarse int64 // the coarse step to return to; Moment.Coarse but for an older snapshot
	From   Step
	Redo   []Step // of coarse step Coarse ... ; steps of later coarse steps follow those of earlier ones
}

// Planner plans recoveries.
type Planner struct {
	Subcycling
	Cadence Cadence
}

// Validate checks levels, ratio and cadence.
func (p *Planner) Validate() error { return p.Cadence.Validate(p.Subcycling) }

// base is m of rule R for an error in level: the finest level not finer than it whose
// current step began with a save; -1 if there is none.
func (p *Planner) base(level int, at Moment) int {
	for l := level; l >= 0; l-- {
		if p.Cadence.Saved(Step{l, p.At(l, at.Step)}, at.Coarse) {
			return l
		}
	}
	return -1
}

// snapshot is the last coarse step, not after the given one, at whose beginning all levels were saved; -1
// if there is none.
func (p *Planner) snapshot(coarse int64) int64 {
	if c := int64(p.Cadence[0]); c > 0 {
		return coarse - coarse%c
	}
	return -1
}

// Corruption plans for wrong data in a box of the level of at.Step, found when
// that step had been computed (rule R).
func (p *Planner) Corruption(at Moment) (Plan, error) {
	if err := p.check(at); err != nil {
		return Plan{}, err
	}
	return p.rollback(p.base(at.Step.Level, at), at, true)
}

// rollback returns levels m ... Lmax to the beginning of the step of m. box allows Box.
func (p *Planner) rollback(m int, at Moment, box bool) (Plan, error) {
	if m < 0 {
		return p.older(at)
	}
	from := Step{m, p.At(m, at.Step)}
	pl := Plan{Scope: Levels, Coarse: at.Coarse, From: from, Redo: p.between(from, at.Step)}
	switch {
	case box && m == at.Step.Level:
		pl.Scope, pl.Redo = Box, []Step{at.Step}
	case m == 0:
		pl.Scope = Global
	}
	return pl, nil
}

// older returns everything to the last global snapshot.
func (p *Planner) older(at Moment) (Plan, error) {
	c := p.snapshot(at.Coarse)
	if c < 0 {
		return Plan{Scope: Abort}, fmt.Errorf("error in %v of coarse step %d: no level was saved at the beginning of its step, and there is no global snapshot: %w", at.Step, at.Coarse, ErrNoRecovery)
	}
	pl := Plan{Scope: Global, Coarse: c}
	for k := c; k < at.Coarse; k++ {
		pl.Redo = slices.AppendSeq(pl.Redo, p.Order())
	}
	pl.Redo = append(pl.Redo, p.between(Step{}, at.Step)...)
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
