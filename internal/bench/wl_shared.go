package bench

import (
	"context"
	"strings"
)

// shared is about what a file system of servers charges for: names, syncs and small writes. A plain file beside each row is opened, written, synced
// and closed on the clock, as a dataset is; with the names of a dataset its own is durable, too.
func (s *session) shared(ctx context.Context) error {
	for _, name := range []string{"F_h0", "F_h1", "G"} {
		for _, sync := range []bool{false, true} {
			j := Job{Case: name, Ranks: 16, Sync: sync, Names: sync}
			size := "as captured"
			if s.Quick {
				j.Ranks, j.Maps, size = 4, MapSource{Ne: 2, Levels: 3, Cells: 120}, "quick"
			}
			what := "write"
			if sync {
				what = "write, durable"
			}
			list, err := s.inProcess(j, strings.Replace(name, "_", " ", 1)+" "+size, what, 0)
			if err != nil {
				return err
			}
			if err := s.race(ctx, true, list...); err != nil {
				return err
			}
		}
	}
	return nil
}
