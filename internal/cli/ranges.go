package cli

import (
	"strconv"
	"strings"
)

// Between parses the value of --between: "LO,HI". An empty value is 0 and 0.
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

// Range parses FIRST:END, or one number. Either end may be omitted, END is excluded, and "" means all. n is the number of items,
// and noun is their name.
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
