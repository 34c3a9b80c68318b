package scr

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestDefect1RealCaches flips a byte in caches that the original SCR wrote without checksums. The change must be detected
// because data and redundancy disagree. Then either the previous checkpoint must be offered, or this checkpoint with the
// right bytes.
func TestDefect1RealCaches(t *testing.T) {
	nodes := []string{"node0", "node1", "node2", "node3"}
	for _, name := range []string{"xor_1_after_crash", "partner_1_after_crash"} {
		whole := realCluster(t, name, nodes...)
		const node = "/nodes/node1/nodelocal/user1/scr.1145655"
		for k, file := range slices.Sorted(maps.Keys(tree(t, whole.fs, node))) {
			if strings.Contains(file, "scr.dataset.3") {
				continue
			}
			for i, part := range []int{0, 2, 4} {
				if !crashtest.Long() && (i+k)%3 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, path.Base(file), part), func(t *testing.T) {
					cl := realCluster(t, name, nodes...)
					b, err := vfs.ReadFile(cl.fs, path.Join(node, file), 1<<20)
					must(t, err)
					b[(len(b)-1)*part/4] ^= 4
					must(t, put(cl.fs, path.Join(node, file), b))
					got := 0
					must(t, cl.run(func(ctx context.Context, s *Session, rank int) error {
						want := 4
						if r, ok, err := s.HaveRestart(ctx); err != nil || !ok {
							return fmt.Errorf("%v, %v", ok, err)
						} else if r.Name == "ckpt.3" {
							want = 3
						}
						if rank == 0 {
							got = want
						}
						return readReal(ctx, cl, s, rank, want)
					}))
					data := strings.HasSuffix(file, ".ckpt") || part == 4 && strings.Contains(file, "reddesc.er.1.") && strings.Contains(file, ".mem_")
					if data != (got == 3) {
						t.Errorf("offered ckpt.%d", got)
					}
				})
			}
		}
	}
}
