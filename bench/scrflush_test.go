package bench

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
)

// TestSCRFlush runs the measurement of flushes at a small size, for its code; with BLOBIO_SCR_RATES=dir it runs as
// TestSCRRates does and prints its table.
func TestSCRFlush(t *testing.T) {
	o := SCROptions{Dir: t.TempDir(), Size: 1<<20 + 17, Runs: 1}
	if dir := os.Getenv("BLOBIO_SCR_RATES"); dir != "" {
		o = SCROptions{Dir: dir, Sync: os.Getenv("BLOBIO_SCR_SYNC") != ""}
		o.Runs, _ = strconv.Atoi(os.Getenv("BLOBIO_SCR_RUNS"))
	}
	rows, err := SCRFlush(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !(median(r.Complete) > 0) || !(median(r.Total) > 0) {
			t.Errorf("%+v", r)
		}
	}
	var b bytes.Buffer
	if err := PrintSCRFlush(&b, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}
