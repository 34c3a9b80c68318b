package cli

import (
	"strconv"
	"strings"
)

// Between reads the value of --between: "LO,HI", or nothing, which is 0 and 0.
func Between(s string) (lo, hi float64, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, ok := strings.Cut(s, ",")
	if lo, err = strconv.ParseFloat(a, 64); err == nil && ok {
		hi, err = strconv.ParseFloat(b, 64)
	}
	if err != nil || !ok || !(lo < hi) {
		return 0, 0, Usagef("--between %q, want two numbers in ascending order, such as 250,300", s)
	}
	return lo, hi, nil
}

// Range reads FIRST:END, whose ends may be left out, or one number, of n elements, records or what noun says. END is not included. "" is all.
func Range(flag, s string, n int64, noun string) (first, end int64, err error) {
	if s == "" {
		return 0, n, nil
	}
	a, b, isRange := strings.Cut(s, ":")
	if a != "" || !isRange {
		first, err = strconv.ParseInt(a, 10, 64)
	}
	switch {
	case !isRange:
		end = first + 1
	case b == "":
		end = n
	case err == nil:
		end, err = strconv.ParseInt(b, 10, 64)
	}
	if err != nil || first < 0 || end < first || end > n {
		return 0, 0, Usagef("--%s %q, want FIRST:END such as 0:10, or a number; there are %s", flag, s, Plural(n, noun))
	}
	return first, end, nil
}
