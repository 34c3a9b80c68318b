package bench

import (
	"context"
	"strings"
)

// shared measures the costs of file systems with servers: names, syncs and small writes. For each row, a plain file is opened,
// written, synced and closed on the clock, like a dataset. If the names of a dataset are durable, the name of the plain file
// is durable, too.
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
