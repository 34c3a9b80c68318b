// Package rooms holds rules of the house as tests: a room imports rooms of lower layers and, without cycles, of its own
// layer, never of a higher one; links of pages lead somewhere; the guide's program builds; awkward English does not spread. It has
// no code of its own.
package rooms
