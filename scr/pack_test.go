package scr

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// TestPackedFiles: a dataset of the packed layout has one metadata file per node, however many ranks the node has, and
// one redundancy file per rank; in the layout of the reference there are ten per rank.
func TestPackedFiles(t *testing.T) {
	for _, perNode := range []int{1, 2, 4} {
		var nodes []string
		for i := range 4 * perNode {
			nodes = append(nodes, fmt.Sprintf("node%d", i/perNode))
		}
		for _, scheme := range []string{"SINGLE", "PARTNER", "XOR", "RS"} {
			for _, packed := range []bool{false, true} {
				cl := newCluster(t, nodes...).set("SCR_COPY_TYPE", scheme, "SCR_FLUSH", "0", "SCR_CACHE_SIZE", "1")
				cl.opts = func(c *Config) { c.Packed = packed }
				must(t, cl.checkpoints(1, 2))
				check := func(when string) {
					t.Helper()
					for _, node := range []string{"node0", "node3"} {
						meta, payload := 0, 0
						for name := range tree(t, cl.fs, "/nodes/"+node) {
							if !strings.Contains(name, "/.scr/") {
								continue
							}
							if base := path.Base(name); strings.HasPrefix(base, "reddesc.er.") && strings.Contains(base, ".grp_") && scheme != "SINGLE" {
								payload++
							} else {
								meta++
							}
						}
						want := 1
						if !packed {
							// filemap, two descriptors, two checksums, redundancy of the map per rank; two states, two lists per node.
							want = 6*perNode + 4
							if scheme == "SINGLE" {
								want += perNode
							}
						}
						wantPayload := perNode
						if scheme == "SINGLE" {
							wantPayload = 0
						}
						if meta != want || payload != wantPayload {
							t.Errorf("%s, %d ranks per node, packed %v, %s: %d metadata files and %d with redundancy on %s, want %d and %d",
								scheme, perNode, packed, when, meta, payload, node, want, wantPayload)
						}
					}
				}
				check("written")
				cl.mustRestart(2)
				check("restarted")
				if scheme != "SINGLE" {
					cl.lose("node3")
					cl.mustRestart(2)
					check("rebuilt")
				}
			}
		}
	}
}
