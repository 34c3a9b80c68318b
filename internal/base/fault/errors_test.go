package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrors(t *testing.T) {
	at := At("f.nc", 16, "magic", ErrCorrupt, "%d, want %d", 3, 5)
	for _, c := range []struct {
		err  error
		text string
	}{
		{at, "f.nc: 0x10: magic: 3, want 5 (corrupt)"},
		{Usage("buffer of %d bytes", 3), "buffer of 3 bytes"},
		{fmt.Errorf("put: %w", Usage("no rank")), "put: no rank"},
		{In("f", "", ErrUsage, "no rank"), "f: no rank"},
		{Class(ErrTooLarge, "%d records", 7), "7 records: too large"},
		{ErrUsage, "wrong argument"},
	} {
		if got := c.err.Error(); got != c.text {
			t.Errorf("error %q, want %q", got, c.text)
		}
	}
	if err := fmt.Errorf("put: %w", Usage("%w", fs.ErrInvalid)); !errors.Is(err, ErrUsage) || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("%v: classes", err)
	}
	err := Class(ErrRange, "b: %w", &fs.PathError{Op: "open", Path: "f", Err: fs.ErrNotExist})
	if !errors.Is(err, ErrRange) || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUsage) {
		t.Errorf("%v: classes", err)
	}
}

func TestSides(t *testing.T) {
	for _, c := range []struct {
		err           *FormatError
		found, wanted string
	}{
		{In("f", "x", nil, "%d, want %q", 3, "a, want b"), "3", `"a, want b"`},
		{In("f", "x", nil, "%d%%, want less", 3), "3%", "less"},
		{In("f", "x", nil, "%q", "1, want 2"), "", ""},
		{In("f", "x", nil, "%[2]d, want %[1]d", 1, 2), "", ""},
		{In("f", "x", nil, "bad"), "", ""},
	} {
		if c.err.Found != c.found || c.err.Wanted != c.wanted {
			t.Errorf("%v: found %q, wanted %q, want %q and %q", c.err, c.err.Found, c.err.Wanted, c.found, c.wanted)
		}
	}
}

func TestClassOf(t *testing.T) {
	special := errors.New("special")
	for err, want := range map[error]error{
		fmt.Errorf("a: %w", ErrMissing): ErrMissing, special: special, fmt.Errorf("a: %w", special): nil, nil: nil,
		errors.Join(fs.ErrNotExist, ErrTruncated): ErrTruncated,
	} {
		if got := ClassOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
