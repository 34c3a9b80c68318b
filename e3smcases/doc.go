// Package e3smcases holds the three E3SM I/O cases as data and makes the
// decompositions and the values that go with them.
//
// # Cases
//
// A case is the list of everything a history file of one E3SM component
// contains: dimensions, global attributes and variables, each with its type,
// its type under the "float" setting (option -j of E3SM-IO), its dimensions,
// the number of its decomposition map and its attributes, all in file order.
//
//	F_h0, F_h1   atmosphere (EAM), 3 maps: D1 ncol (dynamics), D2 ncol (physics), D3 lev x ncol
//	G            ocean (MPAS-Ocean), 6 maps: cells, edges, cells x levels, edges x levels,
//	             vertices x levels, cells x (levels + 1)
//	I_h0, I_h1   land (ELM), 5 maps: lat x lon, and four with a level dimension in front
//
// The tables are embedded text files (tables/*.tab, described in tables.go),
// parsed once when first asked for.
//
// # Decompositions
//
// [GenF], [GenG] and [GenI] make maps of any size for any number of ranks:
//
//   - F: D1 is HOMME's own partition and numbering (cubed sphere, np = 4 points,
//     space-filling curve); D2 and D3 are CAM's chunked physics columns. Both
//     equal the maps that were captured from E3SM, exactly, at ne = 4 with 16
//     ranks and at ne = 30 with 512 ranks.
//   - I: ELM's round-robin segments over a land mask. With the captured mask
//     the result equals the captured map exactly; the mask here is our own.
//   - G: a geodesic Voronoi mesh with the land taken out, cut by recursive
//     bisection. It is similar to MPAS-Ocean's, no more.
//
// bench/results/maps.md compares them with the captured maps in figures.
//
// # Values
//
// [Values] fills the buffer of a rank, or says what a canonical range should
// hold, in one of three patterns: [Reference], [Unique] and [Smooth].
package e3smcases
