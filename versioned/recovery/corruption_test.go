package recovery

import (
	"blobio/internal/base/fault"
	"errors"
	"math"
	"slices"
	"testing"
)

// TestPlausible (F3): the detector.
func TestPlausible(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, v := range []struct {
		now, before, eps float64
		ok               bool
	}{
		{1, 1, 0.1, true}, {1.1, 1.0, 0.1, false}, {nan, 1, 1, false}, {1, nan, 1, false}, {inf, 1, 1, false},
		{inf, inf, 1, false}, {1, 1, 0, false}, {1, 1, nan, false}, {1, 2, inf, true},
		{math.Float64frombits(math.Float64bits(1) ^ 1), 1, 0.1, true}, // the lowest bit is flipped, which is undetected by design
	} {
		if got := plausible(v.now, v.before, v.eps); got != v.ok {
			t.Errorf("Plausible(%v, %v, %v) = %v", v.now, v.before, v.eps, got)
		}
	}
	got, err := suspects([]float64{1, 9, nan}, []float64{1, 1, 1}, 0.5)
	if err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := suspects([]float64{1}, nil, 1); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("lengths: %v", err)
	}
}

// TestClassify (F3): the recompute state machine.
func TestClassify(t *testing.T) {
	nan := math.NaN()
	for _, v := range []struct {
		name       string
		now, prev  float64
		values     []float64 // results of the recomputations
		confirm    int
		want       verdict
		val        float64
		recomputed int
	}{
		{"plausible", 1.05, 1, nil, 1, verdictFine, 1.05, 0},
		{"other and plausible", 9, 1, []float64{1.05}, 1, verdictAccept, 1.05, 1},
		{"confirmed", 9, 1, []float64{1.05, 1.05}, 2, verdictAccept, 1.05, 2},
		{"not confirmed", 9, 1, []float64{1.05, 1.06}, 2, verdictSystemic, 9, 2},
		{"other, not plausible", 9, 1, []float64{8}, 1, verdictSystemic, 9, 1},
		{"same", 9, 1, []float64{9}, 1, verdictSystemic, 9, 1},
		{"same NaN", nan, 1, []float64{nan}, 1, verdictSystemic, nan, 1},
		{"NaN mended", nan, 1, []float64{1}, 1, verdictAccept, 1, 1},
	} {
		n := 0
		got, val, err := classify(v.now, v.prev, 0.1, func() float64 { n++; return v.values[n-1] }, v.confirm)
		if err != nil || got != v.want || !same(val, v.val) || n != v.recomputed {
			t.Errorf("%s: %v %v after %d, %v; want %v %v after %d", v.name, got, val, n, err, v.want, v.val, v.recomputed)
		}
	}
	if _, _, err := classify(9, 1, 0.1, nil, 1); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
}

func TestBoxErrors(t *testing.T) {
	var b boxErrors
	for i, want := range []bool{false, false, true} {
		if got := b.Add(2, 7); got != want {
			t.Errorf("error %d: rollback %v", i+1, got)
		}
	}
	if b.Add(2, 8) {
		t.Error("the limit is for each box")
	}
	b.StepDone(2)
	if b.Add(2, 7) {
		t.Error("a new step starts at zero")
	}
	c := boxErrors{Limit: 1}
	if !c.Add(0, 0) {
		t.Error("limit 1")
	}
}
