package cadence

import (
	"blobio/internal/fault"
)

// Level is what selection needs to know of a redundancy descriptor.
type Level struct {
	Enabled  bool
	Interval int64 // every how many checkpoints; at least 1
	Output   bool  // the one for datasets that are no checkpoints
}

// Select returns the index of the level for checkpoint id (from 1): among the
// enabled ones, that of the largest interval that divides id; of equals the
// first. The error, ErrUsage, says that none divides it, which cannot be if
// there is one of interval 1.
func Select(levels []Level, id int64) (int, error) {
	best := -1
	for i, l := range levels {
		if l.Enabled && l.Interval > 0 && id%l.Interval == 0 && (best < 0 || l.Interval > levels[best].Interval) {
			best = i
		}
	}
	if best < 0 {
		return 0, fault.Usage("no enabled descriptor has an interval that divides checkpoint %d", id)
	}
	return best, nil
}

// SelectOutput returns the index of the level for a dataset that is no
// checkpoint: the first with Output, else the one that Select gives for 1.
func SelectOutput(levels []Level) (int, error) {
	for i, l := range levels {
		if l.Enabled && l.Output {
			return i, nil
		}
	}
	return Select(levels, 1)
}

// FlushDue tells whether checkpoint id (from 1) is one to flush: every n-th,
// none for n <= 0 (SCR_FLUSH). It depends on the id alone, so that it goes on
// in step after a restart.
func FlushDue(id, n int64) bool { return n > 0 && id > 0 && id%n == 0 }
