package parfs

import (
	"testing"

	"blobio/bench"
	"blobio/e3smcases"
)

// TestReplay: the F case in both layouts is written, read back and compared, and converted, through either client.
func TestReplay(t *testing.T) {
	maps, err := e3smcases.F{Ne: 4, Levels: 8, Ranks: 16}.Maps()
	must(t, err)
	each(t, func(t *testing.T, s *system) {
		for _, dir := range s.folder(t) {
			list, err := bench.Replay(t.Context(), bench.ReplayOptions{Case: "F", Maps: maps, Dir: dir, Verify: true, Convert: true, Subfiles: 2, Force: true})
			must(t, err)
			for _, r := range list {
				if r.Verified == 0 {
					t.Errorf("%s %s: nothing was compared", r.Case, r.Layout)
				}
				t.Logf("%s %s: %d bytes in %.3f s", r.Case, r.Layout, r.Bytes, r.Write)
			}
		}
	})
}
