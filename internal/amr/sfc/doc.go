// Package sfc holds space-filling curves in one to three dimensions, cuts of a
// curve into parts, and figures of how good a cut is.
//
//	curves    Morton, Hilbert: Key of a point, Point of a key
//	cuts      ByCount, ByWeight; Owners
//	figures   Measure
package sfc
