package recovery_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"blobio/recovery"
)

// toy is a subcycled AMR solver on a line. It knows the documentation of the package, not its code: it has its own recursion over the levels, counts
// its own steps, saves a level and all finer ones where the cadence says so at the beginning of a step, and nowhere else, and does with a Plan what the Plan
// says. A value is a hash of all that it depends on, so that no deviation is lost.
type toy struct {
	levels, ratio int
	cadence       []int
	regrid        int
	ranks         int

	state  []toyLevel
	saved  map[[3]int]toyLevel // by coarse step, level and step
	coarse int
	queue  []toyOp // what is left of the coarse step
	alive  []int
	taken  int // steps so far

	planner recovery.Planner
	errors  map[int]toyError // by number of the step in which they strike
	saves   int
}

const (
	toyCells = 4 // of a box
	toyBoxes = 3 // of level 0
)

type toyOp struct {
	level, step int
	average     bool
}

type toyError struct {
	kind      string // box, temporary, permanent
	box, rank int
}

// toyLevel has its boxes by their places.
type toyLevel struct{ boxes map[int]toyBox }

type toyBox struct {
	owner    int
	now, old [toyCells]uint64 // old: at the beginning of the step
}

func (l toyLevel) clone() toyLevel { return toyLevel{maps.Clone(l.boxes)} }

func (l toyLevel) at(cell int) (now, old uint64, ok bool) {
	b, ok := l.boxes[cell/toyCells]
	return b.now[cell%toyCells], b.old[cell%toyCells], ok
}

func mix(v ...uint64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range v {
		h = (h ^ x) * 1099511628211
		h ^= h >> 29
	}
	return h
}

func power(b, n int) int {
	x := 1
	for range n {
		x *= b
	}
	return x
}

// cells of a level, if it had boxes everywhere.
func (t *toy) cells(l int) int { return toyBoxes * toyCells * power(t.ratio, l) }

// value of a cell of level l at the beginning of its step k: its own, or that of the next coarser level that has it, between the ends of the step that
// that one has taken.
func (t *toy) value(l, k, cell int) uint64 {
	n := t.cells(l)
	cell = (cell + n) % n
	if v, _, ok := t.state[l].at(cell); ok {
		return v
	}
	for p, span := l-1, t.ratio; ; p, span = p-1, span*t.ratio {
		cell /= t.ratio
		if now, old, ok := t.state[p].at(cell); ok {
			return mix(now, old, uint64(k%span))
		}
	}
}

// compute takes a box of a level from the beginning of step k to its end.
func (t *toy) compute(l, k, place int, b toyBox) toyBox {
	out := toyBox{owner: b.owner, old: b.now}
	for i := range toyCells {
		at := func(d int) uint64 {
			if i+d >= 0 && i+d < toyCells {
				return b.now[i+d]
			}
			return t.value(l, k, place*toyCells+i+d)
		}
		out.now[i] = mix(at(-1), at(0), at(1))
	}
	return out
}

// boxesOf says which boxes a level has from a coarse step on.
func (t *toy) boxesOf(l, coarse int) map[int]bool {
	out := map[int]bool{}
	for p := range toyBoxes * power(t.ratio, l) {
		if l == 0 || mix(uint64(l), uint64(p), uint64(coarse/t.regrid))%3 == 0 {
			out[p] = true
		}
	}
	return out
}

// remesh gives the levels the boxes of a coarse step; values of what is new come from coarser levels.
func (t *toy) remesh() {
	for l := range t.levels {
		next := toyLevel{map[int]toyBox{}}
		for p := range t.boxesOf(l, t.coarse) {
			b, ok := t.state[l].boxes[p]
			if !ok {
				b.owner = t.alive[(p+l)%len(t.alive)]
				for i := range b.now {
					if b.now[i] = mix(uint64(p), uint64(i)); l > 0 {
						b.now[i] = t.value(l, 0, p*toyCells+i)
					}
				}
				b.old = b.now
			}
			next.boxes[p] = b
		}
		t.state[l] = next
	}
}

func (t *toy) program(level, step int) (out []toyOp) {
	out = append(out, toyOp{level, step, false})
	if level+1 == t.levels {
		return out
	}
	for k := range t.ratio {
		out = append(out, t.program(level+1, step*t.ratio+k)...)
	}
	return append(out, toyOp{level, step, true})
}

// save makes the versions that are due at the beginning of a step.
func (t *toy) save(l, k int) {
	count := k
	if l == 0 {
		count = t.coarse
	}
	if t.cadence[l] == 0 || count%t.cadence[l] != 0 {
		return
	}
	for f := l; f < t.levels; f++ {
		if _, ok := t.saved[[3]int{t.coarse, f, k}]; !ok {
			t.saves++
		}
		t.saved[[3]int{t.coarse, f, k}] = t.state[f].clone()
		k *= t.ratio
	}
}

// run takes all coarse steps.
func (t *toy) run(steps int) error {
	t.state, t.saved = make([]toyLevel, t.levels), map[[3]int]toyLevel{}
	for r := range t.ranks {
		t.alive = append(t.alive, r)
	}
	for begun := -1; t.coarse < steps; {
		if len(t.queue) == 0 {
			t.queue = t.program(0, 0)
		}
		if t.coarse > begun {
			begun = t.coarse
			if t.coarse%t.regrid == 0 {
				t.remesh()
			}
		}
		op := t.queue[0]
		t.queue = t.queue[1:]
		if op.average {
			t.average(op.level)
		} else if err := t.step(op.level, op.step, &begun); err != nil {
			return err
		}
		if len(t.queue) == 0 {
			t.coarse++
		}
	}
	return nil
}

func (t *toy) average(l int) {
	for p, b := range t.state[l].boxes {
		for i := range b.now {
			sum, any := []uint64{b.now[i]}, false
			for k := range t.ratio {
				v, _, ok := t.state[l+1].at((p*toyCells+i)*t.ratio + k)
				sum, any = append(sum, v), any || ok
			}
			if any {
				b.now[i] = mix(sum...)
			}
		}
		t.state[l].boxes[p] = b
	}
}

func (t *toy) step(l, k int, begun *int) error {
	t.save(l, k)
	next := toyLevel{map[int]toyBox{}}
	for p, b := range t.state[l].boxes {
		next.boxes[p] = t.compute(l, k, p, b)
	}
	before := t.state[l]
	t.state[l] = next
	bad, strikes := t.errors[t.taken]
	t.taken++
	if !strikes {
		return nil
	}
	at := recovery.Moment{Coarse: int64(t.coarse), Step: recovery.Step{Level: l, Index: k}}
	if bad.kind == "box" {
		places := slices.Sorted(maps.Keys(next.boxes))
		if len(places) == 0 {
			return nil
		}
		place := places[bad.box%len(places)]
		spoilt := next.boxes[place]
		spoilt.now[bad.box%toyCells], spoilt.old[0] = 12345, 67890
		next.boxes[place] = spoilt
		plan, err := t.planner.Corruption(at)
		if err != nil {
			return err
		}
		if plan.Scope == recovery.Box { // the others wait with what they have: their ghosts are of the beginning of the step
			t.state[l] = before
			next.boxes[place] = t.compute(l, k, place, t.saved[[3]int{t.coarse, l, k}].boxes[place])
			t.state[l] = next
			return nil
		}
		return t.back(plan, at, begun)
	}
	if !slices.Contains(t.alive, bad.rank) || bad.kind == "permanent" && len(t.alive) == 1 {
		return nil
	}
	owners := make(recovery.Owners, t.levels)
	places := make([][]int, t.levels)
	for f := range t.levels {
		places[f] = slices.Sorted(maps.Keys(t.state[f].boxes))
		for _, p := range places[f] {
			b := t.state[f].boxes[p]
			if owners[f] = append(owners[f], b.owner); b.owner == bad.rank { // all is gone that the rank had in memory
				b.now, b.old = [toyCells]uint64{1, 2, 3, 4}, [toyCells]uint64{5, 6, 7, 8}
				t.state[f].boxes[p] = b
			}
		}
	}
	lost := []int{bad.rank}
	plan := t.planner.TemporaryLoss
	if bad.kind == "permanent" {
		plan = t.planner.PermanentLoss
		for r := range t.ranks { // those that went before are lost still
			if r != bad.rank && !slices.Contains(t.alive, r) {
				lost = append(lost, r)
			}
		}
		t.alive = slices.DeleteFunc(t.alive, func(r int) bool { return r == bad.rank })
	}
	lp, err := plan(at, owners, t.ranks, lost)
	if err != nil {
		return err
	}
	if len(lp.Affected) > 0 {
		if err := t.back(lp.Plan, at, begun); err != nil {
			return err
		}
	}
	for f := range t.levels {
		for i, p := range places[f] {
			if b, ok := t.state[f].boxes[p]; ok {
				b.owner = lp.Owners[f][i]
				t.state[f].boxes[p] = b
			}
		}
		for p, b := range t.state[f].boxes { // boxes of then that are not among those of now
			if !slices.Contains(t.alive, b.owner) {
				b.owner = t.alive[p%len(t.alive)]
				t.state[f].boxes[p] = b
			}
		}
	}
	return nil
}

// back returns levels From.Level and finer to the beginning of step From of the coarse step, and takes the steps of Redo again: those that the
// program has taken since, or it would not come to where it was.
func (t *toy) back(p recovery.Plan, at recovery.Moment, begun *int) error {
	k := p.From.Index
	for f := p.From.Level; f < t.levels; f++ {
		v, ok := t.saved[[3]int{int(p.Coarse), f, k}]
		if !ok {
			return fmt.Errorf("plan %+v: level %d was not saved at the beginning of its step %d", p, f, k)
		}
		t.state[f] = v.clone()
		k *= t.ratio
	}
	if len(p.Redo) == 0 {
		return nil
	}
	all := t.program(0, 0)
	t.coarse, *begun = int(p.Coarse), int(p.Coarse)
	t.queue = all[slices.Index(all, toyOp{p.From.Level, p.From.Index, false}):]
	var steps []recovery.Step
	for c, ops := p.Coarse, t.queue; c <= at.Coarse; c, ops = c+1, all {
		for _, o := range ops {
			if now := (recovery.Step{Level: o.level, Index: o.step}); !o.average {
				if steps = append(steps, now); c == at.Coarse && now == at.Step {
					break
				}
			}
		}
	}
	if !slices.Equal(steps, p.Redo) {
		return fmt.Errorf("error in %+v: plan %+v, %v were taken since", at, p, steps)
	}
	return nil
}

// result is all values, without the owners.
func (t *toy) result() string {
	var out []string
	for l := range t.state {
		for p, b := range t.state[l].boxes {
			out = append(out, fmt.Sprint(l, p, b.now))
		}
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}

// A solver that follows the documented cadence ends with the bytes of the undisturbed run, whatever goes wrong, where and how often, also while steps
// are taken again.
func TestSolverOfTheDocumentation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := recovery.Subcycling{Levels: rapid.IntRange(1, 4).Draw(t, "levels"), Ratio: rapid.IntRange(1, 3).Draw(t, "ratio")}
		cadence := rapid.SliceOfN(rapid.IntRange(0, 3), s.Levels, s.Levels).Draw(t, "cadence")
		if rapid.Bool().Draw(t, "every step") {
			cadence = slices.Repeat([]int{1}, s.Levels)
		}
		steps, regrid, ranks := rapid.IntRange(1, 5).Draw(t, "steps"), rapid.IntRange(1, 3).Draw(t, "regrid"), rapid.IntRange(1, 4).Draw(t, "ranks")
		implied := rapid.Bool().Draw(t, "implied")
		one := func(errs map[int]toyError) (*toy, error) {
			x := &toy{levels: s.Levels, ratio: s.Ratio, cadence: cadence, regrid: regrid, ranks: ranks, errors: errs,
				planner: recovery.Planner{Subcycling: s, Cadence: cadence, Implied: implied}}
			return x, x.run(steps)
		}
		clean, err := one(nil)
		if err != nil {
			t.Fatal(err)
		}
		errs := map[int]toyError{}
		for range rapid.IntRange(1, 4).Draw(t, "errors") {
			errs[rapid.IntRange(0, clean.taken-1).Draw(t, "in step")] = toyError{kind: rapid.SampledFrom([]string{"box", "temporary", "permanent"}).Draw(t, "kind"),
				box: rapid.IntRange(0, 99).Draw(t, "box"), rank: rapid.IntRange(0, ranks-1).Draw(t, "rank")}
		}
		got, err := one(errs)
		if errors.Is(err, recovery.ErrNoRecovery) && cadence[0] == 0 {
			return // nothing to return to
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.result() != clean.result() {
			t.Fatalf("cadence %v, errors %v: another result", cadence, errs)
		}
		if model, err := savesOf(s, cadence, steps); err != nil || clean.saves != model || got.saves != model {
			t.Fatalf("cadence %v, %d coarse steps: %d versions, %d with errors; the model counts %d, %v", cadence, steps, clean.saves, got.saves, model, err)
		}
	})
}

// savesOf is how many versions the cost model counts.
func savesOf(s recovery.Subcycling, c recovery.Cadence, steps int) (int, error) {
	one := recovery.Model{Ratio: s.Ratio, Put: slices.Repeat([]float64{1}, s.Levels), Step: slices.Repeat([]float64{1}, s.Levels)}
	due, err := one.SaveTime(c)
	if err != nil {
		return 0, err
	}
	without := slices.Clone(c)
	without[0] = 0 // a coarse step for which level 0 is not due
	rest, err := one.SaveTime(without)
	n := 0
	for k := range steps {
		if c[0] > 0 && k%c[0] == 0 {
			n += int(due)
		} else {
			n += int(rest)
		}
	}
	return n, err
}
