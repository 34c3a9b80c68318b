package recovery

import (
	"blobio/internal/base/fault"
	"math"
)

// plausible is the detector of the paper. It reports whether a value changed by less than eps since the previous step. NaN,
// infinities, a difference of exactly eps, and any change under eps = 0 are not plausible. By design it does not detect smaller
// changes, such as the flip of a low bit.
func plausible(now, before, eps float64) bool { return math.Abs(now-before) < eps }

// suspects returns the indices at which now is not plausible compared with before.
func suspects(now, before []float64, eps float64) ([]int, error) {
	if len(now) != len(before) {
		return nil, fault.Usage("%d values, want %d as before", len(now), len(before))
	}
	var out []int
	for i, x := range now {
		if !plausible(x, before[i], eps) {
			out = append(out, i)
		}
	}
	return out, nil
}

// verdict is the result of recomputing a suspect value.
type verdict uint8

const (
	verdictFine     verdict = iota // the value was plausible from the start
	verdictAccept                  // the recomputed value is right
	verdictSystemic                // recomputing does not help: diagnose or abort
)

// classify judges a value by recomputing it. confirm is the number of recomputations that must agree: 1 accepts the first
// one; 2 requires a second one with the same result.
//
//	y against now     y plausible   verdict
//	other bits        yes           Accept y (with confirm 2 only if the second recomputation agrees, else Systemic)
//	other bits        no            Systemic
//	the same bits     either        Systemic
//
// Values are compared by their bits, so NaN equals itself. classify returns the accepted value.
func classify(now, before, eps float64, recompute func() float64, confirm int) (verdict, float64, error) {
	if confirm < 1 || confirm > 2 || recompute == nil {
		return verdictSystemic, now, fault.Usage("confirm is %d, want 1 or 2; or recompute is nil", confirm)
	}
	if plausible(now, before, eps) {
		return verdictFine, now, nil
	}
	y := recompute()
	if same(y, now) || !plausible(y, before, eps) {
		return verdictSystemic, now, nil
	}
	if confirm == 2 && !same(recompute(), y) {
		return verdictSystemic, now, nil
	}
	return verdictAccept, y, nil
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// boxErrors counts errors of boxes within a step. The zero value has the default limit, 3.
type boxErrors struct {
	Limit int // number of errors in a box within a step at which the whole box is rolled back; 0: 3
	n     map[[2]int]int
}

const defaultBoxErrors = 3

// Add counts an error in a box of a level. It reports whether the box must be rolled back to the beginning of its step, instead
// of mending the point.
func (b *boxErrors) Add(level, box int) (rollback bool) {
	limit := b.Limit
	if limit <= 0 {
		limit = defaultBoxErrors
	}
	if b.n == nil {
		b.n = map[[2]int]int{}
	}
	b.n[[2]int{level, box}]++
	return b.n[[2]int{level, box}] >= limit
}

// StepDone clears the counts of a level when its next step starts.
func (b *boxErrors) StepDone(level int) {
	for k := range b.n {
		if k[0] == level {
			delete(b.n, k)
		}
	}
}
