package versioned

import (
	"blobio/internal/base/fault"
	"errors"
	"testing"
)

// TestSubcyclingBounds: hierarchies with too many steps are refused, even if the number of steps overflows an int.
func TestSubcyclingBounds(t *testing.T) {
	for _, s := range []Subcycling{{0, 2}, {21, 1}, {2, 0}, {20, 4}, {2, maxSteps + 1}, {3, 1 << 16}, {3, maxSteps}, {4, 1 << 16}} {
		if err := s.Validate(); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []Subcycling{{1, 1}, {20, 2}, {2, maxSteps}, {20, 1}} {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
}
