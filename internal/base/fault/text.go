package fault

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quoted makes a name from a file fit for a line of a terminal: as it is, or as Go writes it if some of it does not print.
func Quoted(s string) string {
	if strings.ContainsFunc(s, hidden) {
		return strconv.Quote(s)
	}
	return s
}

// Printable makes a text that may hold bytes of a file fit for a line of a terminal: what does not print stands there as
// Go writes it.
func Printable(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02x", s[i])
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

func hidden(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }
