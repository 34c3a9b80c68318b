package fti

import "testing"

// TestManyVariables: Protect finds each of many variables at once. A search through the list would take half a minute.
func TestManyVariables(t *testing.T) {
	s := &Session{cfg: &Config{MaxVarID: maxVarID}}
	memory := [2][]byte{make([]byte, 8), make([]byte, 16)}
	for _, b := range memory {
		for id := range maxVarID + 1 {
			must(t, s.Protect(maxVarID-int64(id), b, int64(len(b))))
		}
	}
	bufs, err := s.vars.bufs()
	must(t, err)
	if len(bufs) != maxVarID+1 || bufs[0].ID != maxVarID || bufs[maxVarID].ID != 0 || len(bufs[7].Data) != 16 {
		t.Errorf("%d variables, the first is %d with %d bytes", len(bufs), bufs[0].ID, len(bufs[0].Data))
	}
}
