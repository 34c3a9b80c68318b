package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
)

// start returns the beginning of a step within its coarse step, counted in fine steps.
func (p *Planner) start(at versioned.Step) int { return at.Index * p.Steps(p.Levels-1-at.Level) }

// time returns the beginning of a step, counted in fine steps.
func (p *Planner) time(at Moment) int64 {
	return at.Coarse*int64(p.Steps(p.Levels-1)) + int64(p.start(at.Step))
}

// before reports whether step a is taken before step b.
func (p *Planner) before(a, b Moment) bool {
	if a.Coarse != b.Coarse {
		return a.Coarse < b.Coarse
	}
	sa, sb := p.start(a.Step), p.start(b.Step)
	return sa < sb || sa == sb && a.Step.Level < b.Step.Level
}

// coarsest returns the coarsest level that contains an error of step since after step at. Finer levels take their boundaries from
// the erroneous level, and a coarser level receives averaged values at the end of its own step.
func (p *Planner) coarsest(at, since Moment) int {
	if at.Coarse > since.Coarse {
		return 0
	}
	m := since.Step.Level
	for l := m - 1; l >= 0; l-- {
		if p.start(at.Step) < (p.At(l, since.Step)+1)*p.Steps(p.Levels-1-l) {
			break
		}
		m = l
	}
	return m
}

// Late plans for an error that happened in step since and was found after step at. The plan reverts all data that the error may
// have reached: the levels from the coarsest that contains it. Rule R applies to the step of this level, with a save made before
// the error. If the error is found at once, the plan equals Corruption's. If since is unknown, use the step after the newest
// clean version. Versions of levels From.Level ... Lmax made since the beginning of step From are tainted, and so are snapshots.
func (p *Planner) Late(at, since Moment) (Plan, error) {
	if err := p.check(at); err != nil {
		return Plan{}, err
	}
	if err := p.check(since); err != nil {
		return Plan{}, err
	}
	if p.before(at, since) {
		return Plan{}, fault.Usage("the error of step %v of coarse step %d was found earlier, in step %v of coarse step %d", since.Step, since.Coarse, at.Step, at.Coarse)
	}
	if at == since {
		return p.Corruption(at)
	}
	pl, err := p.rollback(p.base(p.coarsest(at, since), since), since, false)
	if err != nil {
		return pl, err
	}
	pl.Redo = nil
	for c := pl.Coarse; c <= at.Coarse; c++ {
		for x := range p.Order() {
			now := Moment{c, x}
			if !p.before(now, Moment{pl.Coarse, pl.From}) {
				pl.Redo = append(pl.Redo, x)
			}
			if now == at {
				break
			}
		}
	}
	return pl, nil
}

// Keep returns the number of versions of each level, and of snapshots, that must stay for Late. They suffice for errors found up
// to latency fine steps later. Each snapshot holds one more version of every level.
func (p *Planner) Keep(latency int) (levels []int, snapshots int, err error) {
	if err := p.Validate(); err != nil {
		return nil, 0, err
	}
	if latency < 0 {
		return nil, 0, fault.Usage("latency of %d fine steps, want >= 0", latency)
	}
	levels = make([]int, p.Levels)
	for x := range p.Order() {
		if p.written(x, 0) {
			levels[x.Level]++
		}
	}
	for l := range levels {
		levels[l]++
	}
	if c := p.Cadence[0]; c > 0 {
		late := ceil(latency, p.Steps(p.Levels-1))
		snapshots = ceil(late, c) + 1
	}
	return levels, snapshots, nil
}

func ceil(a, b int) int { return a/b + int(b2i(a%b > 0)) }
