// Package elem is about the elements of arrays: the types of numbers that files and memory share, their sizes and
// names, memory seen as numbers and numbers seen as bytes, byte order, and conversion with a check of the range.
//
// A format numbers types in its own way. It keeps a table from its numbers to a Type and asks this package for
// everything else. A new type is added here: in the list below, and in the switches marked "the types".
package elem
