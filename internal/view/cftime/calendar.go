package cftime

import (
	"blobio/internal/base/fault"
	"strings"
)

// A Calendar determines which days exist.
type Calendar uint8

// The calendars of the CF conventions.
const (
	Standard  Calendar = iota // Julian up to 1582-10-04, followed by 1582-10-15, Gregorian from then on
	Proleptic                 // always Gregorian
	Julian
	NoLeap  // 365 days in each year
	AllLeap // 366 days in each year
	Day360  // 30 days in each month
)

var calendarNames = map[string]Calendar{"": Standard, "standard": Standard, "gregorian": Standard, "proleptic_gregorian": Proleptic, "julian": Julian,
	"noleap": NoLeap, "365_day": NoLeap, "all_leap": AllLeap, "366_day": AllLeap, "360_day": Day360}

// String returns the name of the calendar.
func (c Calendar) String() string {
	return [...]string{"standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"}[c]
}

// ParseCalendar returns the calendar with the name in an attribute.
func ParseCalendar(s string) (Calendar, error) {
	c, ok := calendarNames[strings.ToLower(strings.TrimSpace(s))]
	if !ok {
		return 0, fault.Usage("calendar %q, want standard, proleptic_gregorian, julian, noleap, all_leap or 360_day", s)
	}
	return c, nil
}

// before[m] is the number of days before month m+1 in a year without a leap day.
var before = [13]int64{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

// reform is the day number of 1582-10-15, the first day of the Gregorian calendar. The day before is 1582-10-04 in the Julian
// calendar.
const reform = -141427

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (c Calendar) leap(year int64) bool {
	switch c {
	case NoLeap, Day360:
		return false
	case AllLeap:
		return true
	case Julian:
		return year%4 == 0
	case Standard:
		if year <= 1582 {
			return year%4 == 0
		}
	}
	return year%4 == 0 && (year%100 != 0 || year%400 == 0)
}

// monthDays returns the last day of a month, 1 to 12. For October 1582 of Standard it returns 31, although some days are missing.
func (c Calendar) monthDays(year, month int64) int64 {
	if c == Day360 {
		return 30
	}
	n := before[month] - before[month-1]
	if month == 2 && c.leap(year) {
		n++
	}
	return n
}

// days returns the number of days from 1970-01-01 to a date of the calendar. For Julian and Standard, 1970-01-01 is the Gregorian
// date.
func (c Calendar) days(year, month, day int64) int64 {
	leaps := func(y int64) int64 { // number of leap days in the Gregorian years from 0 to y-1
		y--
		return floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400)
	}
	inYear := before[month-1] + day - 1
	if month > 2 && c.leap(year) {
		inYear++
	}
	switch c {
	case Day360:
		return (year-1970)*360 + (month-1)*30 + day - 1
	case NoLeap:
		return (year-1970)*365 + inYear
	case AllLeap:
		return (year-1970)*366 + inYear
	case Julian:
		return (year-1970)*365 + floorDiv(year-1, 4) - floorDiv(1969, 4) + inYear + 13
	case Standard:
		if year < 1582 || year == 1582 && (month < 10 || month == 10 && day < 15) {
			return Julian.days(year, month, day)
		}
		return Proleptic.days(year, month, day)
	}
	return (year-1970)*365 + leaps(year) - leaps(1970) + inYear
}

// date is the reverse of days.
func (c Calendar) date(n int64) (year, month, day int64) {
	if c == Standard {
		if n < reform {
			return Julian.date(n)
		}
		return Proleptic.date(n)
	}
	length := map[Calendar]float64{Day360: 360, NoLeap: 365, AllLeap: 366, Julian: 365.25, Proleptic: 365.2425}[c]
	year = 1970 + int64(float64(n)/length)
	for c.days(year, 1, 1) > n {
		year--
	}
	for c.days(year+1, 1, 1) <= n {
		year++
	}
	rest := n - c.days(year, 1, 1)
	for month = 1; rest >= c.monthDays(year, month); month++ {
		rest -= c.monthDays(year, month)
	}
	return year, month, rest + 1
}
