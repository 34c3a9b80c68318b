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
		{FormatError{Pkg: "cdf5", File: "f.nc", Offset: 0x30f8, Field: "dimid", Msg: "102, want < 13", Err: ErrCorrupt}, "cdf5: f.nc: 0x30f8: dimid: 102, want < 13 (corrupt)"},
		{FormatError{Pkg: "h5", Offset: -1}, "h5"},
		{FormatError{Pkg: "h5", Offset: -1, Msg: "open a: checksum mismatch", Err: ErrChecksum}, "h5: open a: checksum mismatch"},
		{FormatError{Pkg: "h5", Offset: -1, Msg: "disk full", Err: errors.New("disk full")}, "h5: disk full"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
