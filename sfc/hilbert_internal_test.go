package sfc

import "testing"

// The real program has tables of 12 states in three dimensions and 4 in two.
func TestStates(t *testing.T) {
	for rank, want := range []int{1: 1, 2: 4, 3: 12} {
		if rank == 0 {
			continue
		}
		if got := len(curves[rank].place); got != want {
			t.Errorf("rank %d: %d states, want %d", rank, got, want)
		}
	}
}
