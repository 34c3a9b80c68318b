// Package sfc holds space-filling curves in one to three dimensions, cuts of a
// curve into parts, and measures of the quality of a cut.
//
//	curves    Morton, Hilbert: Key of a point, Point of a key
//	cuts      ByCount, ByWeight; Owners
//	figures   Measure
package sfc
