package fault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
)

// own is an error of a type of a package's own.
type own struct{ err error }

func (e *own) Error() string   { return "redset: lost: " + e.err.Error() }
func (e *own) Unwrap() error   { return e.err }
func (e *own) Package() string { return "redset" }

func TestText(t *testing.T) {
	const p, q = Pkg("blob"), Pkg("cdf5")
	at := q.At("f.nc", 16, "magic", ErrCorrupt, "%d, want %d", 3, 5)
	for _, c := range []struct {
		err        error
		text, bare string
	}{
		{at, "cdf5: f.nc: 0x10: magic: 3, want 5 (corrupt)", "f.nc: 0x10: magic: 3, want 5 (corrupt)"},
		{p.Errorf("open: %w", at), "blob: open: f.nc: 0x10: magic: 3, want 5 (corrupt)", "open: f.nc: 0x10: magic: 3, want 5 (corrupt)"},
		{fmt.Errorf("rank 3: %w", at), "rank 3: cdf5: f.nc: 0x10: magic: 3, want 5 (corrupt)", "rank 3: f.nc: 0x10: magic: 3, want 5 (corrupt)"},
		{p.Usage("buffer of %d bytes", 3), "blob: buffer of 3 bytes: wrong argument", "buffer of 3 bytes"},
		{q.Errorf("put: %w", p.Usage("no rank")), "cdf5: put: no rank: wrong argument", "put: no rank"},
		{fmt.Errorf("put: %w", q.Errorf("all: %w", p.Usage("no rank"))), "put: cdf5: all: no rank: wrong argument", "put: all: no rank"},
		{p.Class(ErrTooLarge, "%d records", 7), "blob: 7 records: over the memory cap", "7 records: over the memory cap"},
		{errors.Join(at, p.Usage("x")), "cdf5: f.nc: 0x10: magic: 3, want 5 (corrupt)\nblob: x: wrong argument", "f.nc: 0x10: magic: 3, want 5 (corrupt)\nx"},
		{p.Errorf("a: %w", &own{q.Errorf("b")}), "blob: a: lost: b", "a: lost: b"},
		{p.In("f", "x", nil, "%v", at), "blob: f: x: f.nc: 0x10: magic: 3, want 5 (corrupt)", "f: x: f.nc: 0x10: magic: 3, want 5 (corrupt)"},
		{fmt.Errorf("%w: no rank", ErrUsage), "wrong argument: no rank", "no rank"},
		{p.Errorf("no rank (%w)", ErrUsage), "blob: no rank (wrong argument)", "no rank"},
		{p.In("f", "", ErrUsage, "no rank"), "blob: f: no rank (wrong argument)", "f: no rank"},
		{ErrUsage, "wrong argument", "wrong argument"},
		{io.EOF, "EOF", "EOF"},
		{fmt.Errorf("blob: said by hand"), "blob: said by hand", "blob: said by hand"},
	} {
		if got := c.err.Error(); got != c.text {
			t.Errorf("error %q, want %q", got, c.text)
		}
		if got := Text(c.err); got != c.bare {
			t.Errorf("text %q, want %q", got, c.bare)
		}
	}
	err := p.Errorf("a: %w", q.Class(ErrRange, "b: %w", &fs.PathError{Op: "open", Path: "f", Err: fs.ErrNotExist}))
	if !errors.Is(err, ErrRange) || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUsage) {
		t.Errorf("%v: classes", err)
	}
}

func TestSides(t *testing.T) {
	for _, c := range []struct {
		err           *FormatError
		found, wanted string
	}{
		{Pkg("p").In("f", "x", nil, "%d, want %q", 3, "a, want b"), "3", `"a, want b"`},
		{Pkg("p").In("f", "x", nil, "%d%%, want less", 3), "3%", "less"},
		{Pkg("p").In("f", "x", nil, "%q", "1, want 2"), "", ""},
		{Pkg("p").In("f", "x", nil, "%[2]d, want %[1]d", 1, 2), "", ""},
		{Pkg("p").In("f", "x", nil, "bad"), "", ""},
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
