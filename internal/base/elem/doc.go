// Package elem handles the elements of arrays: the number types that files and memory share, their sizes and names,
// views of memory as numbers and of numbers as bytes, byte order, and conversion with a range check.
//
// Each format numbers types in its own way. A format has a table from its numbers to a Type and uses this package
// for everything else. To add a type, extend the list below and the switches marked "the types".
package elem
