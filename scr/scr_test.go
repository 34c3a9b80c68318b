package scr

import (
	"context"
	"testing"
)

// TestStory: checkpoints, the loss of a node, a restart that rebuilds, more checkpoints, an end and a fetch.
func TestStory(t *testing.T) {
	for i, scheme := range []string{"SINGLE", "PARTNER", "XOR", "RS", "SINGLE", "PARTNER", "XOR", "RS"} {
		t.Run(scheme, func(t *testing.T) {
			cl := fourNodes(t).set("SCR_COPY_TYPE", scheme)
			cl.apart = i >= 4
			must(t, cl.checkpoints(1, 4))
			cl.mustRestart(4)
			cl.lose("node2")
			if scheme == "SINGLE" {
				cl.mustRestart(3) // that of the prefix directory
				return
			}
			next := cl.on("node0", "node1", "node4", "node3")
			next.mustRestart(4)
			must(t, next.run(func(ctx context.Context, s *Session, rank int) error {
				if n, err := cl.read(ctx, s, rank); err != nil || n != 4 {
					t.Errorf("checkpoint %d, %v", n, err)
				}
				for n := 5; n <= 6; n++ {
					must(t, cl.write(ctx, s, rank, n))
				}
				return s.Close(ctx)
			}))
			cl.lose("node0", "node1", "node3", "node4")
			cl.mustRestart(6)
		})
	}
}
