// Package e3smcases holds the three E3SM I/O cases as data, and makes the
// decompositions and values that go with them.
//
//	Load              a Case: dimensions, attributes, variables, in file order
//	F, G, I           maps of any size for any number of ranks: Maps; Case.Maps, those for a dataset
//	NewValues         what a rank writes, and what a range must hold: Fill, FillRange
//	CoordsF, CoordsG  where on the sphere the columns of F and the mesh of G lie
//
//	F_h0, F_h1   atmosphere (EAM), 3 maps: D1 ncol (dynamics), D2 ncol (physics), D3 lev x ncol
//	G            ocean (MPAS-Ocean), 6 maps: cells, edges, cells x levels, edges x levels,
//	             vertices x levels, cells x (levels + 1)
//	I_h0, I_h1   land (ELM), 5 maps: lat x lon, and four with a level dimension in front
//
// F's D1 is HOMME's own partition and numbering (cubed sphere, np = 4 points,
// space-filling curve), D2 and D3 are CAM's chunked physics columns: exactly the
// maps that were captured from E3SM, at ne = 4 with 16 ranks and at ne = 30 with
// 512. I's maps are ELM's round-robin segments over a land mask: with the captured
// mask exactly the captured map; the mask here is our own. G's is a geodesic
// Voronoi mesh with the land taken out, cut by recursive bisection: similar to
// MPAS-Ocean's, no more. bench/results/maps.md compares them in figures.
package e3smcases
