package parfs

import (
	"testing"

	"blobio/internal/bench"
)

// TestBench: the workload of parallel file systems runs, at its smallest size.
func TestBench(t *testing.T) {
	all := systems(t)
	t.Parallel()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			res, err := bench.Run(t.Context(), bench.Options{Dir: s.folder(t)[0], Quick: true}, "shared")
			must(t, err)
			if len(res.Rows) != 12 || len(res.Skipped) > 0 {
				t.Errorf("%d rows, skipped %v", len(res.Rows), res.Skipped)
			}
			for _, r := range res.Rows {
				t.Logf("%s, %s, %s, sync %v: %s, %.2f of a plain file", res.FileSystem, r.Data, r.Who, r.Sync, bench.Seconds(r.Median()), r.Share("raw write"))
			}
		})
	}
}
