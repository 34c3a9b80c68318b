package fault

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quoted makes a name from a file safe for a line of a terminal. It quotes the name as in Go if some characters are not
// printable.
func Quoted(s string) string {
	if strings.ContainsFunc(s, hidden) {
		return strconv.Quote(s)
	}
	return s
}

// Printable makes a text from a file safe for a line of a terminal. It escapes unprintable characters as in Go.
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

// Below describes the valid indices of n things, such as "records", for a text after "want".
func Below[N int | int64](n N, things string) string {
	if n <= 0 {
		return "none, because there are no " + things
	}
	return fmt.Sprintf("0..%d", n-1)
}
