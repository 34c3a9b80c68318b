package fti

import (
	"fmt"
	"testing"
)

// TestOrderOfVariables: variables keep the order of their first protection, with the data of the last one.
func TestOrderOfVariables(t *testing.T) {
	s := &Session{cfg: &Config{MaxVarID: maxVarID}}
	for _, size := range []int64{8, 16} {
		for _, id := range []int64{maxVarID, 0, 7} {
			must(t, s.Protect(id, make([]byte, size), size))
		}
	}
	bufs, err := s.vars.bufs()
	must(t, err)
	if len(bufs) != 3 || bufs[0].ID != maxVarID || bufs[1].ID != 0 || bufs[2].ID != 7 || len(bufs[2].Data) != 16 {
		t.Errorf("got %+v", bufs)
	}
}

// BenchmarkProtect protects all ids again, as a program does at each step. A call must not take longer with more ids.
func BenchmarkProtect(b *testing.B) {
	for _, ids := range []int64{10, maxVarID + 1} {
		b.Run(fmt.Sprint(ids), func(b *testing.B) {
			s := &Session{cfg: &Config{MaxVarID: maxVarID}}
			data := make([]byte, 8)
			for id := range ids {
				must(b, s.Protect(id, data, 8))
			}
			id := int64(0)
			for b.Loop() {
				must(b, s.Protect(id, data, 8))
				id = (id + 1) % ids
			}
		})
	}
}
