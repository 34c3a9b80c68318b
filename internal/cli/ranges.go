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
		return 0, 0, Usagef("--between %q, want two numbers, the smaller one first, such as 250,300", s)
	}
	return lo, hi, nil
}
