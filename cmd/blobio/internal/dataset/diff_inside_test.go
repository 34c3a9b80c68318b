package dataset

import (
	"testing"

	"blobio/blob"
)

// TestFindingError checks that the error for unreadable data in a comparison has its complete text.
func TestFindingError(t *testing.T) {
	x := blob.Finding{Severity: blob.Error, File: "f.nc.0001", Offset: 16, Field: "numrecs", Found: "3", Wanted: "5", Err: blob.ErrCorrupt}
	if got, want := findingError(x).Error(), "f.nc.0001: 0x10: numrecs: 3, want 5 (corrupt)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := findingError(blob.Finding{Err: blob.ErrMissing}); got != blob.ErrMissing {
		t.Error(got)
	}
}
