package recovery

import (
	"blobio/internal/base/fault"
	"fmt"
	"math"
)

// Realloc says when the array of a level is allocated again.
type Realloc uint8

const (
	OnGrow      Realloc = iota // when a regrid needs more than the array's capacity
	EveryRegrid                // at each regrid: no space wasted, more allocations
)

// PutMode says how a level is saved.
type PutMode uint8

const (
	PerLevel PutMode = iota // all boxes, after the step
	PerBox                  // each box as soon as it is computed; only if every step of every level is saved
)

// OnSystemic says what follows when recomputing does not help.
type OnSystemic uint8

const (
	RunDiagnostics OnSystemic = iota
	AbortRun
)

// Config holds the knobs of the paper and those that it leaves open.
type Config struct {
	Cadence  Cadence    // knob 1: when each level is saved
	Extra    float64    // knob 2: capacity is ceil((1+Extra)*need) elements; default 0
	Realloc  Realloc    // knob 2: when arrays are allocated again
	Put      PutMode    // knob 3
	Systemic OnSystemic // knob 4

	Confirm  int // recomputations that must agree, 1 or 2; 0: 1
	BoxLimit int // errors in a box in a step from which on the box is rolled back; 0: 3
}

// ErrCadence: boxes are put one by one, but not every step of every level is saved.
var ErrCadence = fmt.Errorf("%w: per-box puts need cadence 1 of every level", fault.ErrUsage)

// Validate checks the fields against the hierarchy.
func (c *Config) Validate(s Subcycling) error {
	if err := c.Cadence.Validate(s); err != nil {
		return err
	}
	switch {
	case !(c.Extra >= 0) || math.IsInf(c.Extra, 0):
		return fault.Usage("Extra %v, want >= 0", c.Extra)
	case c.Realloc > EveryRegrid || c.Put > PerBox || c.Systemic > AbortRun:
		return fault.Usage("Realloc %d, Put %d, Systemic %d", c.Realloc, c.Put, c.Systemic)
	case c.Put == PerBox && !c.Cadence.EveryStep():
		return fmt.Errorf("%w: cadence %v", ErrCadence, []int(c.Cadence))
	case c.Confirm < 0 || c.Confirm > 2 || c.BoxLimit < 0:
		return fault.Usage("Confirm %d, want 1 or 2; BoxLimit %d, want > 0", c.Confirm, c.BoxLimit)
	}
	return nil
}
