package cftime

import (
	"blobio/internal/base/fault"
	"math"
	"slices"
	"strings"
)

// Units are units of times: a duration since a date of a calendar, or dates as digits.
type Units struct {
	Calendar Calendar
	step     float64 // length of the unit, in microseconds
	day      int64   // day number of the reference date
	micro    int64   // microseconds of the reference time
	digits   bool    // a time is year, month and day as one number, plus a fraction of a day: 20000131.25
}

var steps = map[string]float64{"nanosecond": 1e-3, "microsecond": 1, "us": 1, "millisecond": 1e3, "msec": 1e3, "ms": 1e3, "second": second, "sec": second, "s": second,
	"minute": minute, "min": minute, "hour": hour, "hr": hour, "h": hour, "day": day, "d": day, "week": 7 * day}

// most is the maximum distance from the reference date in days, about 2.7 million years.
const most = 1e9

// IsTime reports whether units are units of times, known or not: "something since something", dates as digits, or Julian days.
func IsTime(units string) bool {
	low := strings.ToLower(units)
	f := strings.Fields(low)
	if len(f) > 1 && stepOf(f[0]) > 0 && slices.Contains([]string{"after", "from", "@", "ref", "before", "until"}, f[1]) || slices.Contains(f, "since") {
		return true
	}
	return slices.ContainsFunc([]string{"%y", "yyyy", "julian day", "julian date"}, func(part string) bool { return strings.Contains(low, part) })
}

// stepOf returns the length of a unit, singular or plural, in microseconds; 0: unknown.
func stepOf(unit string) float64 {
	unit = strings.ToLower(unit)
	if step, ok := steps[unit]; ok {
		return step
	}
	return steps[strings.TrimSuffix(unit, "s")]
}

// Parse parses the attributes units and calendar (which may be empty) of a variable. The error gives the reason why its times
// cannot be interpreted.
func Parse(units, calendar string) (*Units, error) {
	c, err := ParseCalendar(calendar)
	if err != nil {
		return nil, err
	}
	f := strings.Fields(units)
	switch {
	case len(f) == 0:
		return nil, fault.Usage("the units are empty, want the form \"days since 2000-01-01\"")
	case len(f) == 3 && strings.EqualFold(strings.TrimSuffix(strings.ToLower(f[0]), "s")+" "+f[1], "day as") && (f[2] == "%Y%m%d.%f" || f[2] == "%Y%m%d"):
		return &Units{Calendar: c, step: day, digits: true}, nil
	case len(f) == 1 && stepOf(f[0]) > 0:
		return nil, fault.Usage("units %q lack a reference date, want the form \"%s since 2000-01-01\"", units, f[0])
	case len(f) < 3 || !strings.EqualFold(f[1], "since"):
		return nil, fault.Usage("units %q are unknown, want the form \"days since 2000-01-01\"", units)
	}
	u := &Units{Calendar: c, step: stepOf(f[0])}
	if u.step == 0 {
		if u.step, err = c.stepOf(f[0]); err != nil {
			return nil, fault.Usage("units %q: %w", units, err)
		}
	}
	d, err := c.ParseDate(strings.Join(f[2:], " "))
	if err != nil {
		return nil, fault.Usage("units %q: %w", units, err)
	}
	u.day, u.micro = c.days(d.Year, d.Month, d.Day), d.Micro
	return u, nil
}

// stepOf returns the length of a unit whose length depends on the calendar.
func (c Calendar) stepOf(unit string) (float64, error) {
	yearDays := map[Calendar]float64{NoLeap: 365, AllLeap: 366, Day360: 360}[c]
	switch strings.TrimSuffix(strings.ToLower(unit), "s") {
	case "month":
		if c == Day360 {
			return 30 * day, nil
		}
		return 0, fault.Usage("a month has no fixed length in the calendar %s, only in 360_day", c)
	case "year":
		if yearDays > 0 {
			return yearDays * day, nil
		}
		return 0, fault.Usage("a year has no fixed length in the calendar %s, only in noleap, all_leap and 360_day", c)
	case "common_year":
		if c == NoLeap {
			return yearDays * day, nil
		}
		return 0, fault.Usage("common years exist only in the calendar noleap, not in %s", c)
	}
	return 0, fault.Usage("the unit %q is unknown, want days, hours, minutes, seconds or smaller units", unit)
}

// Linear returns units in which differences of values are proportional to time, and converts values to them. Dates as digits
// become days.
func (u *Units) Linear(values []float64) *Units {
	if !u.digits {
		return u
	}
	out := &Units{Calendar: u.Calendar, step: day}
	for i, x := range values {
		values[i] = math.NaN()
		if d, ok := u.Date(x); ok {
			values[i] = out.Value(d)
		}
	}
	return out
}

// Even reports whether differences of values are proportional to time.
func (u *Units) Even() bool { return !u.digits }

// Date returns the date of a value; ok is false for NaN and values too far away.
func (u *Units) Date(x float64) (d Date, ok bool) {
	if math.IsNaN(x) || math.Abs(x)*(u.step/day) > most {
		return d, false
	}
	if u.digits {
		return u.ofDigits(x)
	}
	// convert whole days first, so that microseconds are exact
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

// ofDigits returns the date written in the digits of a number.
func (u *Units) ofDigits(x float64) (d Date, ok bool) {
	whole, part := math.Modf(math.Abs(x))
	n := int64(whole)
	d = Date{Year: n / 10000, Month: n / 100 % 100, Day: n % 100}
	if x < 0 {
		d.Year = -d.Year
	}
	if !u.Calendar.has(d) {
		return d, false
	}
	return u.Calendar.add(u.Calendar.days(d.Year, d.Month, d.Day), int64(math.Round(part*day))), true
}

// Value is the reverse of Date.
func (u *Units) Value(d Date) float64 {
	if u.digits {
		x := float64(max(d.Year, -d.Year)*10000+d.Month*100+d.Day) + float64(d.Micro)/day
		if d.Year < 0 {
			return -x
		}
		return x
	}
	days := u.Calendar.days(d.Year, d.Month, d.Day) - u.day
	return (float64(days)*day + float64(d.Micro-u.micro)) / u.step
}

// Parse returns the value of a date in the format of ParseDate.
func (u *Units) Parse(date string) (float64, error) {
	d, err := u.Calendar.ParseDate(date)
	if err != nil {
		return 0, err
	}
	return u.Value(d), nil
}
