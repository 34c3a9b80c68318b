package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"blobio/internal/base/fault"
)

// TestErrorTravels: Encode and Decode preserve text and sentinels.
func TestErrorTravels(t *testing.T) {
	for _, s := range sentinels {
		err := fmt.Errorf("subfile 3: %w", s)
		got := Decode(Encode(err))
		if got.Error() != err.Error() || !errors.Is(got, s) {
			t.Errorf("%v arrives as %v", err, got)
		}
		for _, other := range sentinels {
			if errors.Is(got, other) != errors.Is(err, other) {
				t.Errorf("%v arrives as %v", err, other)
			}
		}
	}
	if len(sentinels) > 64 {
		t.Error("more sentinels than bits")
	}
	fe := &fault.FormatError{File: "f.nc", Offset: 4, Err: fault.ErrTruncated}
	got := Decode(Encode(errors.Join(fe, &fs.PathError{Op: "open", Path: "f.nc", Err: fs.ErrNotExist})))
	if !errors.Is(got, fault.ErrTruncated) || !errors.Is(got, fs.ErrNotExist) || !strings.Contains(got.Error(), "f.nc: 0x4") {
		t.Errorf("arrived as %v", got)
	}
	if got := Decode(Encode(errors.New(strings.Repeat("x", 1<<20)))); len(got.Error()) > maxErrorText+10 {
		t.Errorf("%d bytes of text", len(got.Error()))
	}
	if Decode([]byte{0, 0, 0, 0, 0, 0, 0, 9, 'a'}) == nil || Decode(nil) == nil || Decode([]byte{1}) == nil {
		t.Error("garbage arrives as success")
	}
}
