package cftime

import (
	"blobio/internal/base/fault"
	"math"
	"strings"
)

// Units are those of times: a length since a date of a calendar.
type Units struct {
	Calendar Calendar
	step     float64 // of the unit, in microseconds
	day      int64   // of the date
	micro    int64   // of its time
}

var steps = map[string]float64{"microsecond": 1, "us": 1, "millisecond": 1e3, "msec": 1e3, "ms": 1e3, "second": second, "sec": second, "s": second,
	"minute": minute, "min": minute, "hour": hour, "hr": hour, "h": hour, "day": day, "d": day, "week": 7 * day}

// most is how far from the date a time may be, in days: some 2.7 million years.
const most = 1e9

// IsTime says whether units are those of times: something since something.
func IsTime(units string) bool {
	f := strings.Fields(strings.ToLower(units))
	return len(f) > 2 && f[1] == "since"
}

// Parse reads the attributes units and calendar (which may be empty) of a variable.
func Parse(units, calendar string) (*Units, error) {
	c, err := ParseCalendar(calendar)
	if err != nil {
		return nil, err
	}
	f := strings.Fields(units)
	if len(f) < 3 || !strings.EqualFold(f[1], "since") {
		return nil, fault.Usage("units %q, want units such as \"days since 2000-01-01\"", units)
	}
	u := &Units{Calendar: c}
	name := strings.ToLower(f[0])
	step, ok := steps[name]
	if !ok {
		step, ok = steps[strings.TrimSuffix(name, "s")]
	}
	switch year := strings.TrimSuffix(name, "s"); { // their length depends on the calendar, or is of no calendar
	case ok:
	case year == "month" && c == Day360:
		step = 30 * day
	case year == "common_year" && c == NoLeap, year == "year" && c == NoLeap:
		step = 365 * day
	case year == "year" && c == AllLeap:
		step = 366 * day
	case year == "year" && c == Day360:
		step = 360 * day
	default:
		return nil, fault.Usage("units %q: the unit %q is not known in this calendar, want days, hours, minutes, seconds or less", units, f[0])
	}
	d, err := c.ParseDate(strings.Join(f[2:], " "))
	if err != nil {
		return nil, err
	}
	u.step, u.day, u.micro = step, c.days(d.Year, d.Month, d.Day), d.Micro
	return u, nil
}

// Date returns the date of a value; ok is false for what is no number or too far away.
func (u *Units) Date(x float64) (d Date, ok bool) {
	if math.IsNaN(x) || math.Abs(x)*(u.step/day) > most {
		return d, false
	}
	// Whole days first, so that microseconds are exact.
	perDay := day / u.step
	var days, rest float64
	if perDay >= 1 {
		days = math.Floor(x / perDay)
		rest = (x - days*perDay) * u.step
	} else {
		days = math.Floor(x * (u.step / day))
		rest = (x*(u.step/day) - days) * day
	}
	return u.Calendar.add(u.day+int64(days), u.micro+int64(math.Round(rest))), true
}

// Value is the reverse of Date.
func (u *Units) Value(d Date) float64 {
	days := u.Calendar.days(d.Year, d.Month, d.Day) - u.day
	return (float64(days)*day + float64(d.Micro-u.micro)) / u.step
}

// Parse returns the value of a date that is written as ParseDate reads it.
func (u *Units) Parse(date string) (float64, error) {
	d, err := u.Calendar.ParseDate(date)
	if err != nil {
		return 0, err
	}
	return u.Value(d), nil
}
