// Package cftime turns numbers with units such as "days since 2000-01-01" into dates and back, in the calendars of the CF conventions.
// Years are counted with a year 0. Dates have microseconds. Nothing is known of time zones but offsets, nor of leap seconds.
package cftime
