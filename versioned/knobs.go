package versioned

import (
	"blobio/internal/base/fault"
	"encoding/json"
	"fmt"
	"math"
)

// Config holds the knobs of the paper and those that it leaves open.
type Config struct {
	Cadence       Cadence // knob 1: when each level is saved
	Extra         float64 // knob 2: capacity is ceil((1+Extra)*need) elements; default 0
	EveryRegrid   bool    // knob 2: the array of a level is allocated again at each regrid, which wastes no space; default: when its capacity is too small
	PerBox        bool    // knob 3: each box is put as soon as it is computed, which needs cadence 1 of every level; default: all boxes after the step
	AbortSystemic bool    // knob 4: the run ends when computing again does not help; default: diagnostics

	Confirm  int // recomputations that must agree, 1 or 2; 0: 1
	BoxLimit int // errors in a box in a step from which on the box is rolled back; 0: 3
}

// configJSON is a Config as snapshots hold it.
type configJSON struct {
	Cadence                Cadence
	Extra                  float64
	Realloc, Put, Systemic int64 // 0 or 1: EveryRegrid, PerBox, AbortSystemic
	Confirm, BoxLimit      int
}

// MarshalJSON implements json.Marshaler.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(configJSON{c.Cadence, c.Extra, btoi(c.EveryRegrid), btoi(c.PerBox), btoi(c.AbortSystemic), c.Confirm, c.BoxLimit})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(b []byte) error {
	var w configJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Config{w.Cadence, w.Extra, w.Realloc != 0, w.Put != 0, w.Systemic != 0, w.Confirm, w.BoxLimit}
	return nil
}

// errCadence: boxes are put one by one, but not every step of every level is saved.
var errCadence = fmt.Errorf("%w: per-box puts need cadence 1 of every level", fault.ErrUsage)

// Validate checks the fields against the hierarchy.
func (c *Config) Validate(s Subcycling) error {
	if err := c.Cadence.Validate(s); err != nil {
		return err
	}
	switch {
	case !(c.Extra >= 0) || math.IsInf(c.Extra, 0):
		return fault.Usage("Extra %v, want >= 0", c.Extra)
	case c.PerBox && !c.Cadence.EveryStep():
		return fmt.Errorf("%w: cadence %v", errCadence, []int(c.Cadence))
	case c.Confirm < 0 || c.Confirm > 2 || c.BoxLimit < 0:
		return fault.Usage("Confirm %d, want 1 or 2; BoxLimit %d, want > 0", c.Confirm, c.BoxLimit)
	}
	return nil
}
