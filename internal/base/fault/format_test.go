package fault

import (
	"errors"
	"testing"
)

func TestFormatErrorText(t *testing.T) {
	for _, c := range []struct {
		err  FormatError
		want string
	}{
		{FormatError{File: "f.nc", Offset: 0x30f8, Field: "dimid", Msg: "102, want < 13", Err: ErrCorrupt}, "f.nc: 0x30f8: dimid: 102, want < 13 (corrupt)"},
		{FormatError{Offset: -1, Msg: "open a: checksum mismatch", Err: ErrChecksum}, "open a: checksum mismatch"},
		{FormatError{Offset: -1, Msg: "disk full", Err: errors.New("disk full")}, "disk full"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
