// Package gen makes block trees and data for tests and benchmarks: the same
// seed gives the same bytes on every host.
//
//	trees   Uniform, Sphere, Shock, Random, RefineWhere: all 2:1 balanced
//	data    Set: the blocks of a tree, computed on demand
//	cases   Cases: one to three dimensions, non-cubic blocks, ghosts,
//	        face-centred fields, all types, particles
//
// The value of an element is a function of the seed, the field, the level, and the position of the
// cell in the domain. Different elements have different values, within the precision of the type,
// so a test detects swapped elements. Ghost cells equal the matching cells of the neighbour at the
// same level.
package gen
