// Package rooms holds the direction of imports: a room may import rooms of
// lower layers and, without cycles, of its own layer, never of a higher one.
// It has no code of its own, only the test.
package rooms
