package cftime

import (
	"blobio/internal/base/fault"
	"fmt"
	"strconv"
	"strings"
)

// Date is a date and time of day in a calendar.
type Date struct {
	Year, Month, Day int64
	Micro            int64 // microseconds since midnight
}

// Durations in microseconds.
const (
	second = 1_000_000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// Text formats a date like ncdump -t, without trailing zero parts of the time: 2000-01-31, 2000-01-31 06, 06:30, 06:30:15 or
// 06:30:15.250000. sep, a space or T, separates date and time.
func (d Date) Text(sep string) string {
	sign := ""
	y := d.Year
	if y < 0 {
		sign, y = "-", -y
	}
	s := fmt.Sprintf("%s%04d-%02d-%02d", sign, y, d.Month, d.Day)
	if d.Micro == 0 {
		return s
	}
	h, m, us := d.Micro/hour, d.Micro%hour/minute, d.Micro%minute
	s += fmt.Sprintf("%s%02d", sep, h)
	if m == 0 && us == 0 {
		return s
	}
	s += fmt.Sprintf(":%02d", m)
	if us == 0 {
		return s
	}
	s += fmt.Sprintf(":%02d", us/second)
	if us %= second; us != 0 {
		s += fmt.Sprintf(".%06d", us)
	}
	return s
}

// ParseDate parses year-month-day. After a space or T it may have hours, hours:minutes, or hours:minutes:seconds, then Z, UTC or
// an offset such as +02:00. The day may be missing, too.
func (c Calendar) ParseDate(s string) (Date, error) {
	wrong := func() (Date, error) { return Date{}, fault.Usage("date %q, want the form 2000-01-31 06:30:00", s) }
	text := strings.TrimSpace(s)
	sign := int64(1)
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		sign, text = -1, rest
	}
	ymd, clock := text, ""
	if i := strings.IndexAny(text, " Tt"); i >= 0 {
		ymd, clock = text[:i], strings.TrimSpace(text[i+1:])
	}
	d := Date{Day: 1}
	parts := strings.Split(ymd, "-")
	if len(parts) < 2 || len(parts) > 3 {
		return wrong()
	}
	for i, to := range []*int64{&d.Year, &d.Month, &d.Day}[:len(parts)] {
		n, ok := digits(parts[i], 6)
		if !ok {
			return wrong()
		}
		*to = n
	}
	d.Year *= sign
	if !c.has(d) {
		if c == Standard && d.Year == 1582 && d.Month == 10 && d.Day > 4 && d.Day < 15 {
			return Date{}, fault.Usage("date %q does not exist: the calendar skips from 1582-10-04 to 1582-10-15", s)
		}
		return Date{}, fault.Usage("date %q does not exist in the calendar %s", s, c)
	}
	micro, ok := clockOf(clock)
	if !ok {
		return wrong()
	}
	return c.add(c.days(d.Year, d.Month, d.Day), micro), nil
}

// has reports whether the calendar has the day.
func (c Calendar) has(d Date) bool {
	if c == Standard && d.Year == 1582 && d.Month == 10 && d.Day > 4 && d.Day < 15 {
		return false
	}
	return d.Month >= 1 && d.Month <= 12 && d.Day >= 1 && d.Day <= c.monthDays(d.Year, d.Month)
}

// digits parses a number without a sign.
func digits(s string, most int) (int64, bool) {
	if s == "" || len(s) > most || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// clockOf parses a time of day with its offset, in microseconds.
func clockOf(s string) (micro int64, ok bool) {
	if s == "" {
		return 0, true
	}
	for _, zone := range []string{"Z", "UTC", "GMT"} {
		if t, is := strings.CutSuffix(s, zone); is {
			s = strings.TrimSpace(t)
			break
		}
	}
	offset := int64(0)
	if i := strings.LastIndexAny(s, "+-"); i >= 0 {
		sign, zone := int64(-1), s[i+1:] // a positive offset means an earlier time in Greenwich
		if s[i] == '-' {
			sign = 1
		}
		if !strings.Contains(zone, ":") && len(zone) > 2 {
			zone = zone[:len(zone)-2] + ":" + zone[len(zone)-2:]
		}
		if offset, ok = hms(zone); !ok {
			return 0, false
		}
		offset *= sign
		if s = strings.TrimSpace(s[:i]); s == "" {
			return offset, true
		}
	}
	if micro, ok = hms(s); !ok {
		return 0, false
	}
	return micro + offset, true
}

func hms(s string) (int64, bool) {
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	h, ok := digits(parts[0], 2)
	if !ok || h > 24 {
		return 0, false
	}
	n := h * hour
	if len(parts) > 1 {
		m, ok := digits(parts[1], 2)
		if !ok || m > 59 {
			return 0, false
		}
		n += m * minute
	}
	if len(parts) > 2 {
		whole, frac, _ := strings.Cut(parts[2], ".")
		sec, ok := digits(whole, 2)
		if !ok || sec > 60 {
			return 0, false
		}
		n += sec * second
		if frac != "" {
			if frac = (frac + "000000")[:6]; strings.Trim(frac, "0123456789") != "" {
				return 0, false
			}
			us, _ := digits(frac, 6)
			n += us
		}
	}
	return n, true
}

// add returns the date of a day number plus microseconds.
func (c Calendar) add(n, micro int64) Date {
	n += floorDiv(micro, day)
	micro -= floorDiv(micro, day) * day
	d := Date{Micro: micro}
	d.Year, d.Month, d.Day = c.date(n)
	return d
}
