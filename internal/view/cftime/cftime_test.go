package cftime

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var calendars = []Calendar{Standard, Proleptic, Julian, NoLeap, AllLeap, Day360}

// TestDays checks that consecutive days give each date of the calendar once, in order, and that days is the reverse of date.
func TestDays(t *testing.T) {
	for _, c := range calendars {
		for _, from := range []int64{-720000, -141600, -1000, 0, 10957, 500000} {
			y, m, d := c.date(from)
			for n := from; n < from+800; n++ {
				gy, gm, gd := c.date(n)
				if c == Standard && y == 1582 && m == 10 && d == 5 {
					d = 15
				}
				if gy != y || gm != m || gd != d || c.days(y, m, d) != n {
					t.Fatalf("calendar %d: day %d is %d-%d-%d (%d), want %d-%d-%d", c, n, gy, gm, gd, c.days(y, m, d), y, m, d)
				}
				if d++; d > c.monthDays(y, m) {
					d, m = 1, m+1
				}
				if m > 12 {
					y, m = y+1, 1
				}
			}
		}
	}
}

// TestKnownDays checks dates from almanacs and the CF conventions.
func TestKnownDays(t *testing.T) {
	for _, x := range []struct {
		units, calendar string
		value           float64
		want            string
	}{
		{"days since 1970-01-01", "", 0, "1970-01-01"}, {"seconds since 1970-01-01", "gregorian", 1e9, "2001-09-09 01:46:40"},
		{"days since 2000-01-01", "noleap", 58, "2000-02-28"}, {"days since 2000-01-01", "365_day", 59, "2000-03-01"}, {"days since 2000-01-01", "", 59, "2000-02-29"},
		{"days since 2001-01-01", "all_leap", 59, "2001-02-29"}, {"days since 2001-01-01", "360_day", 59, "2001-02-30"}, {"days since 1582-10-04", "standard", 1, "1582-10-15"},
		{"days since 1582-10-04", "proleptic_gregorian", 1, "1582-10-05"}, {"days since 1900-02-28", "julian", 1, "1900-02-29"}, {"days since 1900-02-28", "", 1, "1900-03-01"},
		{"days since -4712-01-01 12:00", "julian", 2451545, "1999-12-19 12"}, {"days since -4712-01-01 12:00", "standard", 2451545, "2000-01-01 12"},
		{"hours since 0001-01-01 00:00:00", "noleap", 8760, "0002-01-01"}, {"days since 0000-01-01", "360_day", 45, "0000-02-16"},
		{"minutes since 2000-01-01T06:00:00Z", "", 30.5, "2000-01-01 06:30:30"}, {"days since 2000-01-01 12:30:00 -6:00", "", 0, "2000-01-01 18:30"},
		{"days since 2000-1-1 00:00:0.0", "", 0.3, "2000-01-01 07:12"}, {"days since 2000-01-01 00:00:00 +0530", "", 1, "2000-01-01 18:30"},
		{"weeks since 2000-01-01", "", 1, "2000-01-08"}, {"months since 2000-01-01", "360_day", 14, "2001-03-01"}, {"milliseconds since 2000-01-01", "", 1500, "2000-01-01 00:00:01.500000"},
		{"days since 2000-01-01", "", -0.25, "1999-12-31 18"}, {"days since 2000-01-01", "", 0.1234567, "2000-01-01 02:57:46.658880"}, {"years since 0001-01-01", "noleap", 3, "0004-01-01"},
		{"months since 2000-01-01", "360_day", 1.5, "2000-02-16"}, {"nanoseconds since 1970-01-01", "", 1.5e18, "2017-07-14 02:40"}, {"common_years since 2000-01-01", "noleap", 2, "2002-01-01"},
		{"day as %Y%m%d.%f", "standard", 20000131.25, "2000-01-31 06"}, {"days as %Y%m%d", "360_day", 20000230, "2000-02-30"}, {"day as %Y%m%d.%f", "", 101.5, "0000-01-01 12"},
		{"day as %Y%m%d.%f", "proleptic_gregorian", -40101.5, "-0004-01-01 12"},
	} {
		u, err := Parse(x.units, x.calendar)
		if err != nil {
			t.Errorf("%s, %s: %v", x.units, x.calendar, err)
			continue
		}
		d, ok := u.Date(x.value)
		if got := d.Text(" "); !ok || got != x.want {
			t.Errorf("%v %s, %s: %s, want %s", x.value, x.units, x.calendar, got, x.want)
		}
		if back, err := u.Parse(d.Text("T")); err != nil || math.Abs(back-x.value) > 1e-9*math.Max(1, math.Abs(x.value)) {
			t.Errorf("%s in %s, %s: %v, want %v (%v)", x.want, x.units, x.calendar, back, x.value, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, x := range [][2]string{{"days", ""}, {"days since", ""}, {"days after 2000-01-01", ""}, {"fortnights since 2000-01-01", ""}, {"months since 2000-01-01", ""},
		{"days since 2000-13-01", ""}, {"days since 2000-02-30", ""}, {"days since 2000-02-29", "noleap"}, {"days since 1582-10-10", ""}, {"days since 2000-01-01 25:00", ""},
		{"days since 2000-01-01 00:61", ""}, {"days since x", ""}, {"days since 2000-01-01 1:2:3:4", ""}, {"days since 2000-01-01", "lunar"}, {"days since 20000000-01-01", ""},
		{"days since 2000-01-01 +", ""}, {"", ""}, {"hours", ""}, {"month as %Y%m.%f", ""}, {"hour as %Y%m%d.%f", ""}, {"years since 2000-01-01", "julian"}, {"days since 2000-01-01 00:00:00.x", ""}} {
		if u, err := Parse(x[0], x[1]); err == nil {
			t.Errorf("%q, %q: %+v", x[0], x[1], u)
		}
	}
	digits, _ := Parse("day as %Y%m%d.%f", "noleap")
	for _, v := range []float64{0, 1.5, 20001301, 20000229, 20000100, math.NaN(), math.Inf(-1), 1e10} {
		if d, ok := digits.Date(v); ok {
			t.Errorf("the digits of %v are %v", v, d)
		}
	}
	for calendar, want := range map[string]string{"": "calendar standard, only in 360_day", "noleap": "calendar noleap, only in 360_day"} {
		if _, err := Parse("months since 2000-01-01", calendar); err == nil || !strings.Contains(err.Error(), "a month has no fixed length in the "+want) {
			t.Errorf("%q: %v", calendar, err)
		}
	}
	u, _ := Parse("days since 2000-01-01", "")
	for _, v := range []float64{math.NaN(), math.Inf(1), 1e30, -1e30, 2e9} {
		if d, ok := u.Date(v); ok {
			t.Errorf("%v is %v", v, d)
		}
	}
}

// TestRoundTrip checks that Value reverses Date to the microsecond.
func TestRoundTrip(t *testing.T) {
	units := []string{"days", "hours", "minutes", "seconds"}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(calendars).Draw(t, "calendar")
		ref := c.add(rapid.Int64Range(-900000, 900000).Draw(t, "day"), rapid.Int64Range(0, day-1).Draw(t, "time"))
		u := &Units{Calendar: c, step: steps[strings.TrimSuffix(rapid.SampledFrom(units).Draw(t, "unit"), "s")], day: c.days(ref.Year, ref.Month, ref.Day), micro: ref.Micro}
		want := c.add(rapid.Int64Range(-900000, 900000).Draw(t, "day"), rapid.Int64Range(0, 86399).Draw(t, "second")*second)
		got, ok := u.Date(u.Value(want))
		diff := (c.days(got.Year, got.Month, got.Day)-c.days(want.Year, want.Month, want.Day))*day + got.Micro - want.Micro
		if !ok || diff > 100 || diff < -100 { // 2^53 microseconds are 285 years
			t.Fatalf("%v, want %v", got, want)
		}
		if back, err := c.ParseDate(want.Text(" ")); err != nil || back != want {
			t.Fatalf("%s is read as %v (%v)", want.Text(" "), back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("days since 2000-01-01 12:30:00 -6:00", "noleap", 12.5)
	f.Add("seconds since 1970-01-01T00:00:00Z", "", -1e9)
	f.Fuzz(func(t *testing.T, units, calendar string, x float64) {
		if u, err := Parse(units, calendar); err == nil {
			if d, ok := u.Date(x); ok {
				_ = d.Text("T")
			}
		}
	})
}

// TestIsTime checks that units of times are distinguished from durations and other quantities.
func TestIsTime(t *testing.T) {
	for units, want := range map[string]bool{"days since 2000-01-01": true, "Days Since start": true, "days since": true, "months since 2000-01-01": true, "day as %Y%m%d.%f": true, "days after 2000-01-01": true,
		"s @ 2000-01-01": true, "julian days": true, "YYYYMMDD": true, "": false, "days": false, "hours": false, "kg m-2 s-1": false, "m from 0": false, "1": false, "degrees_north": false} {
		if IsTime(units) != want {
			t.Errorf("%q: %v", units, !want)
		}
	}
}

// TestLinear checks that dates written as digits become evenly spaced days.
func TestLinear(t *testing.T) {
	u, err := Parse("day as %Y%m%d.%f", "noleap")
	if err != nil || u.Even() {
		t.Fatalf("%v, %v", u, err)
	}
	values := []float64{20000228, 20000301.5, 20000229, 20010228}
	days := u.Linear(values)
	if !days.Even() || values[1]-values[0] != 1.5 || values[2] == values[2] || values[3]-values[0] != 365 {
		t.Errorf("%v", values)
	}
	if d, ok := days.Date(values[1]); !ok || d.Text(" ") != "2000-03-01 12" {
		t.Errorf("%v, %v", d, ok)
	}
}
