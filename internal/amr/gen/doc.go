// Package gen makes block trees and data for tests and benchmarks: the same
// seed gives the same bytes on every host.
//
//	trees   Uniform, Sphere, Shock, Random, RefineWhere: all 2:1 balanced
//	data    Set: the blocks of a tree, each made when asked for
//	cases   Cases: one to three dimensions, blocks that are no cubes, ghosts,
//	        face-centred fields, all types, particles
//
// The value of an element is a function of seed, field, level and place of the
// cell in the whole domain. So two elements that code mixes up have different
// values (within the precision of the type), and ghost cells equal the matching
// cells of the neighbour at the same level.
package gen
