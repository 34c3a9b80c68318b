// Package cftime converts numbers with units such as "days since 2000-01-01" to dates and back, in the calendars of the CF
// conventions. Years include a year 0. Dates have a resolution of microseconds. Time zones are only offsets, and there are no
// leap seconds.
package cftime
