package slab

import (
	"blobio/internal/base/fault"
	"strconv"
	"strings"
)

// Arg is one selection: NAME,MIN[,MAX[,STRIDE]], NAME,MIN,, or NAME,,MAX. A number with a point or an exponent is a coordinate
// value. A date is a value of a coordinate with time units. A whole number is an index from 0; a negative index counts from the
// end. Without a second comma the selection is one element. For a coordinate value, this is the element with the nearest value.
type Arg struct {
	Name     string
	text     string
	min, max limit
	single   bool
	stride   int64
}

// limit is one end of a range.
type limit struct {
	kind  kind
	index int64
	value float64
	date  string
}

type kind uint8

const (
	open kind = iota // not given
	byIndex
	byValue
	byDate
)

func (k kind) String() string {
	return [...]string{"nothing", "an index", "a value", "a date"}[k]
}

// Parse reads a selection.
func Parse(text string) (Arg, error) {
	a := Arg{text: text, stride: 1}
	f := strings.Split(text, ",")
	if a.Name = f[0]; a.Name == "" || len(f) < 2 || len(f) > 4 {
		return a, a.wrong("want NAME,MIN[,MAX[,STRIDE]]")
	}
	var err error
	if a.min, err = a.limit(f[1]); err != nil {
		return a, err
	}
	if a.single = len(f) == 2; a.single {
		if a.max = a.min; a.min.kind == open {
			return a, a.wrong("no index or value follows the comma")
		}
		return a, nil
	}
	if a.max, err = a.limit(f[2]); err != nil {
		return a, err
	}
	if x, y := a.min.kind, a.max.kind; x != open && y != open && x != y {
		return a, a.wrong("the first limit is %v, but the second is %v; a value has a decimal point, as in 30.", x, y)
	}
	if len(f) == 4 && f[3] != "" {
		if a.stride, err = strconv.ParseInt(f[3], 10, 64); err != nil || a.stride < 1 {
			return a, a.wrong("stride %q, want an integer >= 1", f[3])
		}
	} else if a.min.kind == open && a.max.kind == open {
		return a, a.wrong("the selection has neither a limit nor a stride")
	}
	return a, nil
}

// wrong returns an error about the selection.
func (a Arg) wrong(format string, args ...any) error {
	return fault.Usage("selection %q: "+format, append([]any{a.text}, args...)...)
}

func (a Arg) limit(s string) (l limit, err error) {
	digits := strings.TrimPrefix(s, "-")
	switch {
	case s == "":
		return l, nil
	case digits != "" && strings.Trim(digits, "0123456789") == "":
		l.kind = byIndex
		if l.index, err = strconv.ParseInt(s, 10, 64); err != nil {
			return l, a.wrong("%q, want an integer below 2^63", s)
		}
		return l, nil
	case isDate(digits):
		return limit{kind: byDate, date: s}, nil
	case strings.Trim(s, "0123456789.eEdD+-") != "":
		return l, a.wrong("%q, want an index, a value such as 30. or a date such as 2000-01-31", s)
	}
	l.kind = byValue
	if l.value, err = strconv.ParseFloat(strings.Map(exponent, s), 64); err != nil {
		return l, a.wrong("%q, want a number", s)
	}
	return l, nil
}

// exponent converts an exponent letter to Go's: Fortran has 1d3.
func exponent(r rune) rune {
	if r == 'd' || r == 'D' {
		return 'e'
	}
	return r
}

// isDate reports whether a text begins with year-month.
func isDate(s string) bool {
	year, rest, ok := strings.Cut(s, "-")
	return ok && year != "" && strings.Trim(year, "0123456789") == "" && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// whole reports whether the selection has only indices, or only a stride.
func (a Arg) whole() bool {
	return a.min.kind <= byIndex && a.max.kind <= byIndex
}
