package bench

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
)

// TestRates runs the measurement at the smallest size, for its code; with
// BLOBIO_RATES=dir it runs at ne=30 in that directory and prints the table.
func TestRates(t *testing.T) {
	o := RatesOptions{Dir: t.TempDir(), Ne: 2, Ranks: 4, Runs: 1}
	if dir := os.Getenv("BLOBIO_RATES"); dir != "" {
		o = RatesOptions{Dir: dir, Log: func(s string) { t.Log(s) }}
		o.Ne, _ = strconv.Atoi(os.Getenv("BLOBIO_RATES_NE"))
	}
	rows, err := Rates(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 6", len(rows))
	}
	for _, r := range rows {
		if len(r.Seconds) == 0 || r.Bytes == 0 || !(r.Ratio() > 0) {
			t.Errorf("row %+v", r)
		}
	}
	var b bytes.Buffer
	if err := PrintRates(&b, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}
