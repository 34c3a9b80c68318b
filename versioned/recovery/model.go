package recovery

import (
	"blobio/internal/base/fault"
	"blobio/versioned"
	"math"
)

// Model is the cost model of the paper, with all times in seconds. The tests contain the paper's numbers.
type Model struct {
	Ratio    int       // refinement ratio of the subcycling
	Alloc    float64   // time to allocate the arrays, once per run; the paper charges it to the coarse step
	Put      []float64 // by level: time to save one version
	Box      float64   // time to put or get one box
	Step     []float64 // by level: time to compute one step
	Reconfig float64   // time to fetch and reconfigure for a rollback of levels; the paper charges it once for any number of levels

	// Latency is the number of fine steps between an error and its detection. Versions made in this time are tainted, and the run
	// goes back as in Planner.Late. For a fraction the cost is interpolated. 0 in the paper.
	Latency float64

	// Commit is the time to commit a snapshot in addition to the versions, including the wait for the disk. It is charged once for a
	// coarse step that saves level 0. 0 in the paper.
	Commit float64

	// Anywhere lets errors occur in the steps of all levels, with probabilities proportional to their times. By default errors occur
	// only in fine steps, all with the same probability, as in the paper's example.
	Anywhere bool
}

// Cost is the cost of a coarse step with one error in it.
type Cost struct {
	Alloc    float64 // charged share of Model.Alloc
	Save     float64 // versions made during the coarse step, one for each level and step that is saved
	Lost     float64 // repeated steps, and the versions saved again on the way
	Reconfig float64 // fetching data and reconfiguring
}

// Total returns the sum: T_save (with the allocation) + T_lost + T_reconfig.
func (c Cost) Total() float64 { return c.Alloc + c.Save + c.Lost + c.Reconfig }

// Subcycling returns the subcycling of the model, with one level for each entry of Step.
func (m *Model) Subcycling() versioned.Subcycling {
	return versioned.Subcycling{Levels: len(m.Step), Ratio: m.Ratio}
}

// Validate returns an error that wraps ErrUsage if a field is invalid.
func (m *Model) Validate() error {
	if err := m.Subcycling().Validate(); err != nil {
		return err
	}
	if len(m.Put) != len(m.Step) {
		return fault.Usage("the model has put times for %d levels, but step times for %d", len(m.Put), len(m.Step))
	}
	for _, x := range append(append([]float64{m.Alloc, m.Box, m.Reconfig, m.Latency, m.Commit}, m.Put...), m.Step...) {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fault.Usage("time of %v s in the model, want a finite number from 0 on", x)
		}
		if x > maxTime {
			return fault.Usage("time of %v s in the model, want at most %g s", x, maxTime)
		}
	}
	return nil
}

// maxTime is the maximum time in a model, in seconds, so that sums of times are finite.
const maxTime = 1e100

// SaveTime returns the time to save the versions of one coarse step, if level 0 is due in it.
func (m *Model) SaveTime(c versioned.Cadence) (float64, error) {
	s := m.Subcycling()
	if err := m.Validate(); err != nil {
		return 0, err
	}
	if err := c.Validate(s); err != nil {
		return 0, err
	}
	t := 0.0
	p := Planner{s, c}
	for at := range s.Order() {
		if p.written(at, 0) {
			t += m.Put[at.Level]
		}
	}
	if c[0] > 0 {
		t += m.Commit
	}
	return t, nil
}

// saves returns the time for the versions saved at the beginning of a step: of the level, if its cadence asks for it, and of each
// finer level. It is 0 if a coarser level is saved at that moment.
func (m *Model) saves(p *Planner, at versioned.Step) float64 {
	if !p.Cadence.Saved(at, 0) || at.Level > 0 && p.Begins(at.Level-1, at) && p.written(versioned.Step{Level: at.Level - 1, Index: p.At(at.Level-1, at)}, 0) {
		return 0
	}
	t := 0.0
	for _, put := range m.Put[at.Level:] {
		t += put
	}
	if at.Level == 0 {
		t += m.Commit
	}
	return t
}

// StepTime returns the time to compute one coarse step.
func (m *Model) StepTime() float64 {
	t := 0.0
	for at := range m.Subcycling().Order() {
		t += m.Step[at.Level]
	}
	return t
}

// Cost returns the cost of a coarse step if step at of level at.Level leaves wrong data in a box. Like the paper, Cost charges the
// full allocation.
func (m *Model) Cost(p *Planner, at versioned.Step) (Cost, error) {
	save, err := m.SaveTime(p.Cadence)
	if err != nil {
		return Cost{}, err
	}
	c := Cost{Alloc: m.Alloc, Save: save}
	err = m.each(p, func(s versioned.Step, lost, reconfig float64) {
		if s == at {
			c.Lost, c.Reconfig = lost, reconfig
		}
	})
	if err == nil {
		err = p.valid(at)
	}
	if err != nil {
		return Cost{}, err
	}
	return c, nil
}

// weighed is a latency in whole fine steps and its weight in the interpolation.
type weighed struct {
	steps  int64
	weight float64
}

func (m *Model) late() []weighed {
	whole := math.Floor(min(m.Latency, 1<<52))
	if part := m.Latency - whole; part > 0 && part < 1 {
		return []weighed{{int64(whole), 1 - part}, {int64(whole) + 1, part}}
	}
	return []weighed{{int64(whole), 1}}
}

// Expected returns the mean cost of a coarse step without the allocation. An error happens with probability perr at a random step
// (see Anywhere). Above 1, perr is the mean number of errors, each recovered separately.
func (m *Model) Expected(p *Planner, perr float64) (Cost, error) {
	if !(perr >= 0) {
		return Cost{}, fault.Usage("%v errors per coarse step, want 0 or more", perr)
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

// mean returns the mean cost of one error at a random step.
func (m *Model) mean(p *Planner) (sum Cost, err error) {
	fine, all := p.Levels-1, m.StepTime()
	err = m.each(p, func(at versioned.Step, lost, reconfig float64) {
		w := 0.0
		switch {
		case m.Anywhere && all > 0:
			w = m.Step[at.Level] / all
		case at.Level == fine:
			w = 1 / float64(p.Steps(fine))
		}
		sum.Lost += lost * w
		sum.Reconfig += reconfig * w
	})
	return sum, err
}

// each calls f for every step of a coarse step with the time lost by an error in that step, and the time to reconfigure. The lost
// time runs from the beginning of the step to which the run goes back to the end of the step in which the error is found, with
// the saves in between. each visits the coarse step twice.
func (m *Model) each(p *Planner, f func(at versioned.Step, lost, reconfig float64)) error {
	if err := m.fits(p); err != nil {
		return err
	}
	fine := p.Levels - 1
	n := int64(p.Steps(fine))
	ends := make([][2]float64, 0, n) // by fine step: time and saves from the beginning of the coarse step to its end
	now, saves := 0.0, 0.0
	for at := range p.Order() {
		saves += m.saves(p, at)
		if now += m.Step[at.Level]; at.Level == fine {
			ends = append(ends, [2]float64{now, saves})
		}
	}
	all, allSaves := now, saves
	began := make([][2]float64, p.Levels) // by level: start of its current step, and the saves until then
	now, saves = 0, 0
	for at := range p.Order() {
		saves += m.saves(p, at)
		for l := range at.Level { // saves at the beginning of a level's step are not lost
			if p.Begins(l, at) {
				began[l][1] = saves
			}
		}
		began[at.Level] = [2]float64{now, saves}
		now += m.Step[at.Level]
		since := Moment{Step: at}
		lost, reconfig := 0.0, 0.0
		for _, x := range m.late() {
			found := since
			end := [2]float64{now, saves}
			if x.steps > 0 {
				k := int64(p.start(at)) + x.steps
				found = Moment{k / n, versioned.Step{Level: fine, Index: int(k % n)}}
				end = ends[k%n]
				end[0] += float64(k/n) * all
				end[1] += float64(k/n) * allSaves
			}
			base := p.base(p.coarsest(found, since), since)
			if base < 0 {
				_, err := p.older(since)
				return err
			}
			if base == at.Level && found == since {
				lost += x.weight * m.Step[at.Level]
				reconfig += x.weight * m.Box
				continue
			}
			lost += x.weight * (end[0] - began[base][0] + end[1] - began[base][1])
			reconfig += x.weight * m.Reconfig
		}
		f(at, lost, reconfig)
	}
	return nil
}

// fits checks that a planner has the hierarchy of the model.
func (m *Model) fits(p *Planner) error {
	if p.Subcycling != m.Subcycling() {
		return fault.Usage("the planner has %d levels of ratio %d, but the model has %d of ratio %d", p.Levels, p.Ratio, len(m.Step), m.Ratio)
	}
	return nil
}
