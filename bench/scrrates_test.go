package bench

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
)

// TestSCRRates runs the measurement at a small size, for its code; with BLOBIO_SCR_RATES=dir
// it runs with four ranks of 256 MiB in that directory (BLOBIO_SCR_SYNC=1: synced, for disks;
// BLOBIO_SCR_RUNS: number of runs) and prints the tables.
func TestSCRRates(t *testing.T) {
	o := SCROptions{Dir: t.TempDir(), Size: 1<<20 + 17, Runs: 1}
	if dir := os.Getenv("BLOBIO_SCR_RATES"); dir != "" {
		o = SCROptions{Dir: dir, Sync: os.Getenv("BLOBIO_SCR_SYNC") != ""}
		o.Runs, _ = strconv.Atoi(os.Getenv("BLOBIO_SCR_RUNS"))
	}
	r, err := SCRRates(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 3 {
		t.Errorf("%d rows, want 3", len(r.Rows))
	}
	for i := range r.Rows {
		x := &r.Rows[i]
		for _, v := range [][]float64{x.Alone, x.Both, x.Encode, x.Message, x.Floor, x.Verify, x.Quick, x.Rebuild, x.Rest, x.Copy} {
			if len(v) == 0 || !(median(v) > 0) {
				t.Errorf("%s: %+v", x.Scheme, x)
			}
		}
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}
