package recovery

import (
	"slices"

	"blobio/internal/base/fault"
)

// Loss plans for ranks that are lost, or whose memory cannot be trusted; owners[level][box] is the rank of a box. The run goes back at least to the
// beginning of the step of the coarsest level with boxes on them, or of the level of at if that is coarser, by rule R to that of a coarser level if it
// was not saved: what a level is in the middle of its step, or after values of finer levels were brought down to it, is in no version. Also what the
// other ranks have of the levels that return comes from versions. If the ranks had no boxes the plan has no steps, and the run goes on with the step
// after at.
func (p *Planner) Loss(at Moment, owners [][]int, lost []int) (Plan, error) {
	if err := p.check(at); err != nil {
		return Plan{}, err
	}
	if len(owners) != p.Levels {
		return Plan{}, fault.Usage("owners of %d levels, there are %d", len(owners), p.Levels)
	}
	for l, boxes := range owners {
		if slices.ContainsFunc(boxes, func(r int) bool { return slices.Contains(lost, r) }) {
			return p.rollback(p.base(min(l, at.Step.Level), at), at, false)
		}
	}
	return Plan{From: at.Step, Coarse: at.Coarse}, nil
}
