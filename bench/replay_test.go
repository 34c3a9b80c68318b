package bench

import (
	"context"
	"testing"

	"blobio/blob"
	"blobio/comm"
	"blobio/e3smcases"
)

// TestReplayLends checks that a replay copies no data.
func TestReplayLends(t *testing.T) {
	maps, err := e3smcases.F{Ne: 2, Levels: 3, Ranks: 4}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for _, async := range []bool{false, true} {
		res, err := Replay(context.Background(), ReplayOptions{Case: "F", Maps: maps, Nodes: comm.Options{}, Dir: t.TempDir(), Async: async, Verify: true,
			Options: blob.Options{Durability: blob.DurableNone, Memory: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if len(res) == 0 {
			t.Fatal("nothing written")
		}
	}
}
