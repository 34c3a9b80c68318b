package blocks

import (
	"errors"
	"os"
	"testing"

	"blobio/blob"
	"blobio/internal/fault"
)

// TestTruncated: a file that lost bytes at its end is never taken for a whole one.
func TestTruncated(t *testing.T) {
	m, blocks := toy(8, 2)
	name := temp(t)
	writeToy(t, name, m, deal(blocks, 2, 0), &Options{Durability: blob.DurableNone})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(b) - 1; n >= 0; n -= 1 + n/40 {
		if err := os.WriteFile(name, b[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := Open(t.Context(), name, nil)
		if err == nil {
			d.Close()
			if len(b)-n > 3 { // up to three are pads
				t.Errorf("%d of %d bytes: no error", n, len(b))
			}
			continue
		}
		if !errors.Is(err, fault.ErrTruncated) && !errors.Is(err, ErrNotFormat) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
		errs := 0
		for f := range Check(t.Context(), name, nil) {
			if f.Severity == blob.Error {
				errs++
			}
		}
		if errs == 0 {
			t.Errorf("%d of %d bytes: Check finds nothing", n, len(b))
		}
	}
}
