package recovery

import (
	"blobio/internal/fault"
	"fmt"
	"slices"
)

// Owners says who owns the boxes: Owners[level][box] is a rank.
type Owners [][]int

// on lists the levels with a box on one of the ranks.
func (o Owners) on(ranks []int) []int {
	var out []int
	for l, boxes := range o {
		if slices.ContainsFunc(boxes, func(r int) bool { return slices.Contains(ranks, r) }) {
			out = append(out, l)
		}
	}
	return out
}

// LossPlan is a Plan with what happens to the boxes. The run goes back as Plan says: also what the other ranks have of the levels
// that return comes from versions. Without affected levels there is nothing to return to, and the run goes on with the step after Moment.Step.
type LossPlan struct {
	Plan
	Affected []int  // levels with boxes on the lost ranks, ascending
	Owners   Owners // after the recovery: each box exactly once, nobody lost. Of the boxes that there are now: an older coarse step may have had others
	Refetch  []int  // levels of which the lost ranks have nothing: their boxes there can come from versions only
}

// PermanentLoss plans for ranks that do not come back: the computation goes on without them, on
// fewer ranks. Levels with boxes there are affected; the run returns at least to the beginning of the
// step of the coarsest of these, by rule R to that of a coarser level if it was not
// saved. If all levels are affected that is global.
func (p *Planner) PermanentLoss(at Moment, owners Owners, ranks int, lost []int) (LossPlan, error) {
	lp, err := p.loss(at, owners, ranks, lost)
	if err != nil {
		return lp, err
	}
	alive := survivors(ranks, lost)
	if len(alive) == 0 {
		return LossPlan{Plan: Plan{Scope: Abort}}, fmt.Errorf("all %d ranks are lost: %w", ranks, ErrNoRecovery)
	}
	lp.Owners = redistribute(owners, ranks, alive, lost)
	return lp, p.fetch(&lp, at)
}

// TemporaryLoss plans for ranks whose memory cannot be trusted, but which go on. Nobody's boxes move; rule R applies from
// the coarsest affected level. That holds for each cadence: what a level is in the middle of its step, or after values of finer
// levels were brought down to it, is in no version.
func (p *Planner) TemporaryLoss(at Moment, owners Owners, ranks int, lost []int) (LossPlan, error) {
	lp, err := p.loss(at, owners, ranks, lost)
	if err != nil {
		return lp, err
	}
	lp.Owners = owners
	return lp, p.fetch(&lp, at)
}

// fetch completes the plan of a loss: levels from that of rule R for the coarsest affected one on return.
func (p *Planner) fetch(lp *LossPlan, at Moment) (err error) {
	if len(lp.Affected) == 0 {
		lp.From, lp.Coarse = at.Step, at.Coarse
		return nil // the lost ranks had nothing to do
	}
	if lp.Plan, err = p.rollback(p.base(min(lp.Affected[0], at.Step.Level), at), at, false); err == nil {
		lp.Refetch = lp.Affected
	}
	return err
}

func (p *Planner) loss(at Moment, owners Owners, ranks int, lost []int) (LossPlan, error) {
	if err := p.check(at); err != nil {
		return LossPlan{}, err
	}
	if len(owners) != p.Levels {
		return LossPlan{}, fault.Usage("owners of %d levels, there are %d", len(owners), p.Levels)
	}
	for l, boxes := range owners {
		for b, r := range boxes {
			if r < 0 || r >= ranks {
				return LossPlan{}, fault.Usage("level %d box %d is rank %d's, there are %d", l, b, r, ranks)
			}
		}
	}
	for _, r := range lost {
		if r < 0 || r >= ranks {
			return LossPlan{}, fault.Usage("lost rank %d of %d", r, ranks)
		}
	}
	return LossPlan{Affected: owners.on(lost)}, nil
}

func survivors(ranks int, lost []int) []int {
	var out []int
	for r := range ranks {
		if !slices.Contains(lost, r) {
			out = append(out, r)
		}
	}
	return out
}

// redistribute gives each box of a lost rank to the survivor with the fewest boxes of that level, the
// lowest of them; others stay where they are. Ranks keep their numbers.
func redistribute(o Owners, ranks int, alive, lost []int) Owners {
	out := make(Owners, len(o))
	for l, boxes := range o {
		n := make([]int, ranks)
		for _, r := range boxes {
			n[r]++
		}
		out[l] = slices.Clone(boxes)
		for b, r := range boxes {
			if !slices.Contains(lost, r) {
				continue
			}
			to := alive[0]
			for _, a := range alive {
				if n[a] < n[to] {
					to = a
				}
			}
			out[l][b] = to
			n[to]++
		}
	}
	return out
}
