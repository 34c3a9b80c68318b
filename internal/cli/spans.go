package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSpan parses a duration in Go's format, optionally with days in front, or a number of seconds.
func ParseSpan(s string) (time.Duration, error) {
	wrong := fmt.Errorf("time %q, want 90s, 5m, 6h30m, 2d, or a number of seconds", s)
	const most = 100 * 365 * 24 * time.Hour
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		if !(x >= 0 && x <= most.Seconds()) {
			return 0, wrong
		}
		return time.Duration(x * float64(time.Second)), nil
	}
	if s == "" {
		return 0, wrong
	}
	var sum time.Duration
	if head, rest, ok := strings.Cut(s, "d"); ok {
		x, err := strconv.ParseFloat(head, 64)
		if err != nil || !(x >= 0 && x <= most.Hours()/24) {
			return 0, wrong
		}
		sum, s = time.Duration(x*24*float64(time.Hour)), rest
	}
	if s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > most {
			return 0, wrong
		}
		sum += d
	}
	return sum, nil
}

// SpanText formats a duration for people, to about three digits.
func SpanText(d time.Duration) string {
	two := func(n int64, a string, m int64, b string) string {
		if m == 0 {
			return fmt.Sprintf("%d %s", n, a)
		}
		return fmt.Sprintf("%d %s %d %s", n, a, m, b)
	}
	switch s := d.Seconds(); {
	case d == 0:
		return "0 s"
	case s < 0.9995e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 0.9995:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 59.95:
		return fmt.Sprintf("%.3g s", s)
	case d < time.Hour-time.Second/2:
		n := int64(math.Round(s))
		return two(n/60, "min", n%60, "s")
	case d < 24*time.Hour-time.Minute/2:
		n := int64(math.Round(s / 60))
		return two(n/60, "h", n%60, "min")
	case d < 100*24*time.Hour:
		n := int64(math.Round(s / 3600))
		return two(n/24, "d", n%24, "h")
	default:
		return fmt.Sprintf("%.0f d", s/86400)
	}
}
