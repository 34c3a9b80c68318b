package cdf5

import (
	"blobio/internal/fault"
	"fmt"
	"unicode/utf8"
)

// badName tells why a name is not acceptable even in a file that is read: it
// returns "" for a good one. Such names cannot be told apart or printed.
func badName(s string) string {
	if s == "" {
		return "empty name"
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '/':
			return fmt.Sprintf("%q has '/'", s)
		case c < ' ' || c == 0x7f:
			return fmt.Sprintf("%q has control character %#02x", s, c)
		}
	}
	return ""
}

// oddName tells which further rule of the netCDF libraries for new names is
// broken: it returns "" for a good one.
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
	case c < 0x80 && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z'):
		return fmt.Sprintf("%q: want a letter, a digit or '_' first", s)
	case s[len(s)-1] == ' ':
		return fmt.Sprintf("%q ends in a space", s)
	}
	return ""
}

// OddName describes the first name in the header that netCDF libraries read, but do not accept
// in a new file: not UTF-8, too long, beginning with a sign, or ending with a space. It returns
// "" when there is none.
func (h *Header) OddName() string {
	odd := func(kind, name, of string) string {
		if why := oddName(name); why != "" {
			return kind + ": " + why + of
		}
		return ""
	}
	atts := func(list []Att, of string) string {
		for i := range list {
			if why := odd("attribute", list[i].Name, of); why != "" {
				return why
			}
		}
		return ""
	}
	for i := range h.Dims {
		if why := odd("dim", h.Dims[i].Name, ""); why != "" {
			return why
		}
	}
	if why := atts(h.Atts, " of the file"); why != "" {
		return why
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		if why := odd("var", v.Name, ""); why != "" {
			return why
		}
		if why := atts(v.Atts, " of "+v.Name); why != "" {
			return why
		}
	}
	return ""
}

// checkNew applies all rules to a name of a header that will be written, and
// notes it in seen.
func checkNew(seen *names, kind, name string) error {
	if why := badName(name); why != "" {
		return fault.Usage("%s: %s", kind, why)
	}
	if why := oddName(name); why != "" {
		return fault.Usage("%s: %s", kind, why)
	}
	if seen.again(name) {
		return fault.Usage("%s: %q is there twice", kind, name)
	}
	return nil
}
