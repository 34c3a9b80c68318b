// Package ffplot draws the map of an FTI-FF file, as PNG, SVG or text: where
// each variable's chunks lie, and what is dead space.
//
// The upper part of a picture is the file, cut into lines like a page; the
// lower part has a line for each variable with its containers one after the
// other, so that its fragments can be counted. The same colour is the same
// variable in both.
package ffplot
