package kvcomm

import (
	"errors"
	"testing"

	"blobio/scr/kvtree"
)

// TestParse: a message that is cut anywhere, or names ranks that are not there, is an error.
func TestParse(t *testing.T) {
	b, _ := take([]parcel{{1, 2, []byte("one")}, {0, 1, []byte("another")}}, func(parcel) bool { return true })
	if got, err := parse(b, 3); err != nil || len(got) != 2 || string(got[1].b) != "another" {
		t.Fatalf("%v %v", got, err)
	}
	for n := range len(b) {
		if n == 0 || n == parcelHead+3 { // whole parcels
			continue
		}
		if _, err := parse(b[:n], 3); !errors.Is(err, kvtree.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := parse(b, 2); !errors.Is(err, kvtree.ErrCorrupt) {
		t.Errorf("rank 2 of 2: %v", err)
	}
}
