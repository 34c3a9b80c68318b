// Package rooms holds the rules of the house as tests: a room imports rooms of lower layers and, without cycles, of its own
// layer, never of a higher one; links and names of pages lead somewhere; the tests that promises.txt names exist.
// Public packages have runnable examples and short comments. It has no code of its own.
package rooms
