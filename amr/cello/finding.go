package cello

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity of a Finding.
type Severity uint8

const (
	Note    Severity = iota // worth knowing
	Warning                 // readable, but not as the format wants it, or of doubtful content
	Error                   // cannot be read, cannot be restarted from, or gives wrong results
)

// String returns "note", "warning" or "error".
func (s Severity) String() string { return [...]string{"note", "warning", "error", ""}[s&3] }

// Finding is one thing that Verify found.
type Finding struct {
	Severity Severity
	File     string // of the directory; "" for the whole
	Block    string // name of the block, "" for the file
	Field    string // attribute, dataset or line that it is about
	Msg      string // what was found and what was wanted
	Effect   string // what the real program does with it, if that is known
	Err      error  // the class, or the error met
}

// String prints the finding in one line.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: ", f.Severity)
	for _, s := range []string{f.File, f.Block, f.Field} {
		if s != "" {
			b.WriteString(s + ": ")
		}
	}
	b.WriteString(f.Msg)
	if f.Effect != "" {
		b.WriteString(" (the original: " + f.Effect + ")")
	}
	return printable(b.String())
}

// printable shows what is not text as escapes: names come from files that may be damaged.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			q := strconv.Quote(s[:n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// asError makes an error of a finding.
func (f *Finding) asError() error {
	if fe, ok := f.Err.(*FormatError); ok && f.Msg == fe.Error() {
		return fe
	}
	field := strings.TrimPrefix(strings.TrimPrefix(f.Block+" "+f.Field, " "), " ")
	return &FormatError{Pkg: "cello", File: f.File, Offset: -1, Field: strings.TrimSpace(field), Msg: f.Msg, Err: f.Err}
}

// What the real program does with bad input, as was seen when it ran on it.
const (
	hangs      = "hangs"
	aborts     = "aborts"
	crashes    = "crashes"
	runsWrong  = "runs on with wrong data, and says nothing"
	writesHang = "reads it, but hangs when it has to write such a one"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
