package bench

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
)

// TestFFRates runs the measurement at a small size, for its code; with
// BLOBIO_FF_RATES=dir it runs with 1 GiB in that directory (BLOBIO_FF_SYNC=1: synced,
// BLOBIO_FF_VARS: variables) and prints the table.
func TestFFRates(t *testing.T) {
	o := FFOptions{Dir: t.TempDir(), Size: 4 << 20, Runs: 1}
	if dir := os.Getenv("BLOBIO_FF_RATES"); dir != "" {
		o = FFOptions{Dir: dir, Sync: os.Getenv("BLOBIO_FF_SYNC") != ""}
		o.Vars, _ = strconv.Atoi(os.Getenv("BLOBIO_FF_VARS"))
	}
	r, err := FFRates(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2*(2+5+3)+1+2 {
		t.Errorf("%d rows", len(r.Rows))
	}
	for i := range r.Rows {
		if x := &r.Rows[i]; len(x.Seconds) == 0 || !(x.Ratio() > 0) {
			t.Errorf("row %+v", x)
		}
	}
	if r.DigestPart > 0.01 {
		t.Errorf("digests take %.3f of the protected size, want at most 0.01", r.DigestPart)
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}
