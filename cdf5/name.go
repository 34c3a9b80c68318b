package cdf5

import (
	"blobio/internal/base/fault"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// badName returns the reason why a name is invalid even in an existing file, or "" for a valid name. Invalid names have control
// characters or are empty.
func badName(s string) string {
	if s == "" {
		return "the name is empty"
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == 0x7f {
			return fmt.Sprintf("%q has control character %#02x", s, c)
		}
	}
	return ""
}

// oddName returns the reason why the netCDF libraries refuse to create a name, or "".
func oddName(s string) string {
	if s == "" {
		return ""
	}
	c := s[0]
	switch {
	case len(s) > maxName:
		return fmt.Sprintf("name of %d bytes, want <= %d", len(s), maxName)
	case !utf8.ValidString(s):
		return fmt.Sprintf("%q is not UTF-8", s)
	case strings.Contains(s, "/"):
		return fmt.Sprintf("%q has '/', which marks a group in netCDF-4 and Zarr", s)
	case c < 0x80 && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z'):
		return fmt.Sprintf("%q must begin with a letter, a digit or '_'", s)
	case s[len(s)-1] == ' ':
		return fmt.Sprintf("%q ends with a space", s)
	case !norm.NFC.IsNormalString(s):
		return fmt.Sprintf("%q is not in Unicode normal form C, which netCDF libraries need to find the name", s)
	}
	return ""
}

// NormalName returns a name in Unicode normal form C. The netCDF libraries define and look up names in this form. They cannot
// find names in other forms.
func NormalName(s string) string { return norm.NFC.String(s) }

// checkNew checks a name of a header that will be written and records it in seen. If odd, it applies only the rules for names in
// existing files.
func checkNew(seen *names, kind, name string, odd bool) error {
	if why := badName(name); why != "" {
		return fault.Usage("%s: %s", kind, why)
	}
	if why := oddName(name); why != "" && !odd {
		return fault.Usage("%s: %s", kind, why)
	}
	if seen.again(name) {
		return fault.Usage("%s: %q occurs twice", kind, name)
	}
	return nil
}
