package scr

import (
	"strings"
	"testing"

	"blobio/internal/scr/cachedir"
)

// TestNoSums: checksums are the default. With SCR_CRC_ON_COPY=0 the caches have none, and restarts, rebuilds and flushes work as
// with caches of SCR.
func TestNoSums(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  []string
		lost string // node that is lost before the restart
	}{
		{"SINGLE", []string{"SCR_COPY_TYPE", "SINGLE"}, ""},
		{"PARTNER", []string{"SCR_COPY_TYPE", "PARTNER"}, "node1"},
		{"XOR", []string{"SCR_COPY_TYPE", "XOR"}, "node1"},
		{"bypass", []string{"SCR_CACHE_BYPASS", "1"}, ""},
	} {
		for value, want := range map[string]bool{"": true, "1": true, "0": false} {
			cl := fourNodes(t).set(append(tc.set, "SCR_FLUSH", "2")...)
			if value != "" {
				cl.set("SCR_CRC_ON_COPY", value)
			}
			must(t, cl.checkpoints(1, 3))
			maps, sums := 0, 0
			for name := range tree(t, cl.fs, "/nodes") {
				if strings.HasSuffix(name, ".redsum") {
					sums++
				}
				if !strings.Contains(name, "filemap_") {
					continue
				}
				m, err := cachedir.ReadFilemap(cl.fs, "/nodes/"+name)
				must(t, err)
				for _, f := range m.Files() {
					maps++
					if f.Meta.HasCRC != want {
						t.Errorf("%s, value %q: %s has a checksum of %s: %v", tc.name, value, name, f.Name, f.Meta.HasCRC)
					}
				}
			}
			if maps == 0 || (sums > 0) != want {
				t.Errorf("%s, value %q: %d files in file maps, %d checksum files", tc.name, value, maps, sums)
			}
			if tc.lost != "" {
				cl.lose(tc.lost)
			}
			cl.mustRestart(3) // compares every byte
		}
	}
}
