package recovery

import (
	"math"
)

// Model is the cost model of the paper, all times in seconds. For its golden numbers see
// the tests.
type Model struct {
	Ratio    int       // of the subcycling
	Alloc    float64   // allocating the arrays, once per run; the paper charges it to the coarse step
	Put      []float64 // by level: saving one version of it
	Box      float64   // putting or getting one box
	Step     []float64 // by level: computing one step
	Reconfig float64   // fetching and reconfiguring for a rollback of levels; the paper charges it once, however many levels return

	// Latency is how long after it happened an error is found, in fine steps of mean cost: that much more
	// work is lost. That versions made meanwhile hold the error, so that older ones are wanted, is not in it. 0 in the paper.
	Latency float64

	// Anywhere lets errors strike the steps of all levels, each with a probability in proportion to its
	// time. Default false: fine steps only, all alike, as in the paper's example.
	Anywhere bool
}

// Cost of a coarse step with one error in it.
type Cost struct {
	Alloc    float64 // the share of Model.Alloc that is charged
	Save     float64 // versions made during the coarse step: one of a level for each step at whose beginning it is saved
	Lost     float64 // steps taken again, and the versions that are made once more on the way
	Reconfig float64 // fetching data, reconfiguring
}

// Total is the sum: T_save (with the allocation) + T_lost + T_reconfig.
func (c Cost) Total() float64 { return c.Alloc + c.Save + c.Lost + c.Reconfig }

// Subcycling of the model: as many levels as Step has.
func (m *Model) Subcycling() Subcycling { return Subcycling{Levels: len(m.Step), Ratio: m.Ratio} }

// Validate returns an error that wraps ErrUsage if a field cannot be.
func (m *Model) Validate() error {
	if err := m.Subcycling().Validate(); err != nil {
		return err
	}
	if len(m.Put) != len(m.Step) {
		return pkg.Errorf("%w: model with %d times of puts, %d of steps", ErrUsage, len(m.Put), len(m.Step))
	}
	for _, x := range append(append([]float64{m.Alloc, m.Box, m.Reconfig, m.Latency}, m.Put...), m.Step...) {
		if !(x >= 0) || math.IsInf(x, 0) {
			return pkg.Errorf("%w: model with a time of %v s", ErrUsage, x)
		}
		if x > maxTime {
			return pkg.Errorf("%w: model with a time of %v s, want at most %g s", ErrUsage, x, maxTime)
		}
	}
	return nil
}

// maxTime is what a time of a model is at most, in seconds: sums of them are numbers then.
const maxTime = 1e100

// SaveTime is what the versions of one coarse step cost, of one for which level 0 is due.
func (m *Model) SaveTime(c Cadence) (float64, error) {
	s := m.Subcycling()
	if err := m.Validate(); err != nil {
		return 0, err
	}
	if err := c.Validate(s); err != nil {
		return 0, err
	}
	t := 0.0
	for at := range s.Order() {
		if c.Written(s, at, 0) {
			t += m.Put[at.Level]
		}
	}
	return t, nil
}

// saves is what is made at the beginning of a step because of its level's cadence: a version of it and of each finer level, unless a
// coarser level is saved at that moment.
func (m *Model) saves(c Cadence, at Step) float64 {
	s := m.Subcycling()
	if !c.Saved(at, 0) || at.Level > 0 && s.Begins(at.Level-1, at) && c.Written(s, Step{at.Level - 1, s.At(at.Level-1, at)}, 0) {
		return 0
	}
	t := 0.0
	for _, put := range m.Put[at.Level:] {
		t += put
	}
	return t
}

// StepTime is the computation of one coarse step.
func (m *Model) StepTime() float64 {
	t := 0.0
	for at := range m.Subcycling().Order() {
		t += m.Step[at.Level]
	}
	return t
}

// Cost returns the cost of a coarse step in which data of a box of level at.Level turn out to be
// wrong after step at. The allocation is charged in full, as the paper does.
func (m *Model) Cost(p *Planner, at Step) (Cost, error) {
	save, err := m.SaveTime(p.Cadence)
	if err != nil {
		return Cost{}, err
	}
	if err := m.fits(p); err != nil {
		return Cost{}, err
	}
	pl, err := p.Corruption(Moment{Step: at})
	if err != nil {
		return Cost{}, err
	}
	c := Cost{Alloc: m.Alloc, Save: save}
	for _, s := range pl.Redo {
		c.Lost += m.Step[s.Level]
		if !p.Begins(pl.From.Level, s) { // what it has returned to is there
			c.Lost += m.saves(p.Cadence, s)
		}
	}
	c.Lost += m.latency(p)
	if pl.Scope == Box {
		c.Reconfig = m.Box
	} else {
		c.Reconfig = m.Reconfig
	}
	return c, nil
}

// latency is the work between the error and its detection. The run goes on at the mean rate of a fine step,
// and what it computes meanwhile is lost too.
func (m *Model) latency(p *Planner) float64 {
	return m.Latency * m.StepTime() / float64(p.Steps(p.Levels-1))
}

// Expected is the mean cost of a coarse step without the allocation, when an error
// happens in it with probability perr, at a random step (see Anywhere). Above 1, perr is the mean number
// of errors, each recovered by itself.
func (m *Model) Expected(p *Planner, perr float64) (Cost, error) {
	if !(perr >= 0) {
		return Cost{}, pkg.Errorf("%w: %v errors per coarse step", ErrUsage, perr)
	}
	save, err := m.SaveTime(p.Cadence)
	if err != nil {
		return Cost{}, err
	}
	one, err := m.mean(p)
	if err != nil {
		return Cost{}, err
	}
	return Cost{Save: save, Lost: one.Lost * perr, Reconfig: one.Reconfig * perr}, nil
}

// mean is what one error costs at a random step. It goes over the coarse step once: what is lost by an error is the
// time since the step to which it goes back began, and what was saved since.
func (m *Model) mean(p *Planner) (sum Cost, err error) {
	if err := m.fits(p); err != nil {
		return sum, err
	}
	all, late := m.StepTime(), m.latency(p)
	began := make([]float64, p.Levels) // when the step that each level is in began
	saved := make([]float64, p.Levels) // what was saved since
	now := 0.0
	for at := range p.Order() {
		began[at.Level], saved[at.Level] = now, 0
		if t := m.saves(p.Cadence, at); t > 0 {
			for l := range at.Level {
				if !p.Begins(l, at) {
					saved[l] += t
				}
			}
		}
		now += m.Step[at.Level]
		w := 0.0
		switch {
		case m.Anywhere && all > 0:
			w = m.Step[at.Level] / all
		case at.Level == p.Levels-1:
			w = 1 / float64(p.Steps(at.Level))
		default:
			continue
		}
		lost, reconfig := m.Step[at.Level], m.Box
		base := p.base(at.Level, Moment{Step: at})
		if base < 0 {
			_, err := p.older(Moment{Step: at})
			return Cost{}, err
		}
		if base < at.Level {
			lost, reconfig = now-began[base]+saved[base], m.Reconfig
		}
		sum.Lost += (lost + late) * w
		sum.Reconfig += reconfig * w
	}
	return sum, nil
}

// fits checks that a planner is of the hierarchy of the model.
func (m *Model) fits(p *Planner) error {
	if p.Subcycling != m.Subcycling() {
		return pkg.Errorf("%w: planner of %d levels of ratio %d, model of %d of ratio %d", ErrUsage, p.Levels, p.Ratio, len(m.Step), m.Ratio)
	}
	return nil
}

// BreakEven is the number of errors per coarse step at which cadences a and b cost the same; NaN if there is none, since one of them
// is better at any rate. Above it the one costs less that saves more, below it the other one. last looks at errors in the last fine step only, as the paper does; otherwise they
// come at a uniformly random one.
func (m *Model) BreakEven(a, b *Planner, last bool) (float64, error) {
	var ca, cb Cost
	var err error
	if last {
		at := Step{a.Levels - 1, a.Steps(a.Levels-1) - 1}
		if ca, err = m.Cost(a, at); err == nil {
			cb, err = m.Cost(b, at)
		}
	} else {
		if ca, err = m.Expected(a, 1); err == nil {
			cb, err = m.Expected(b, 1)
		}
	}
	if err != nil {
		return 0, err
	}
	more, less := cb.Save-ca.Save, ca.Lost+ca.Reconfig-cb.Lost-cb.Reconfig
	if x := more / less; x > 0 && !math.IsInf(x, 0) {
		return x, nil
	}
	return math.NaN(), nil
}

// CanTry says whether BestCadence has few enough cadences to try, and steps to go over for each of them.
func (m *Model) CanTry() bool {
	s := m.Subcycling()
	if s.Validate() != nil {
		return false
	}
	n, steps := 1, 0
	for l := range s.Levels {
		if steps += s.Steps(l); l > 0 {
			n *= l + 2
		}
		if n*steps > 1<<20 {
			return false
		}
	}
	return true
}

// BestCadence returns the cadence with the least expected cost at perr errors per coarse step, among those that save
// level 0 at every coarse step and each finer level never or at every Ratio^k-th step. Of equal ones the first wins;
// those with fewest saves come first. ErrUsage: the hierarchy has too many cadences to try, see CanTry.
func (m *Model) BestCadence(perr float64) (Cadence, Cost, error) {
	s := m.Subcycling()
	if err := m.Validate(); err != nil {
		return nil, Cost{}, err
	}
	if !m.CanTry() {
		return nil, Cost{}, pkg.Errorf("%w: %d levels of ratio %d are too many to try all cadences", ErrUsage, s.Levels, s.Ratio)
	}
	cad := make(Cadence, s.Levels)
	cad[0] = 1
	var best Cadence
	var bestCost Cost
	var try func(l int) error
	try = func(l int) error {
		if l == s.Levels {
			c, err := m.Expected(&Planner{Subcycling: s, Cadence: cad}, perr)
			if err == nil && (best == nil || c.Total() < bestCost.Total()*(1-1e-12)) {
				best, bestCost = append(Cadence(nil), cad...), c
			}
			return err
		}
		cad[l] = 0
		if err := try(l + 1); err != nil {
			return err
		}
		if s.Ratio == 1 {
			cad[l] = 1
			return try(l + 1)
		}
		for n := s.Steps(l); n >= 1; n /= s.Ratio {
			cad[l] = n
			if err := try(l + 1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := try(1); err != nil {
		return nil, Cost{}, err
	}
	return best, bestCost, nil
}
