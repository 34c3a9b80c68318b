// Package e3smcases has the definitions of the three E3SM I/O cases, and makes their
// decompositions and values.
//
//	Load              a Case: dimensions, attributes, variables, in file order
//	F, G, I           maps of any size for any number of ranks: Maps; Case.Maps for a dataset
//	NewValues         the values of a rank or a range: Fill, FillRange
//	CoordsF, CoordsG  positions on the sphere of the columns of F and the mesh of G
//
//	F_h0, F_h1   atmosphere (EAM), 3 maps: D1 ncol (dynamics), D2 ncol (physics), D3 lev x ncol
//	G            ocean (MPAS-Ocean), 6 maps: cells, edges, cells x levels, edges x levels,
//	             vertices x levels, cells x (levels + 1)
//	I_h0, I_h1   land (ELM), 5 maps: lat x lon, and four with a level dimension in front
//
// D1 of F is HOMME's own partition and numbering (cubed sphere, np = 4 points, space-filling
// curve). D2 and D3 are CAM's chunked physics columns. All three equal the maps captured from E3SM,
// at ne = 4 with 16 ranks and at ne = 30 with 512. The maps of I are the round-robin segments of
// ELM over a land mask. With the captured mask they equal the captured maps. The built-in mask is
// another one. G's maps come from a geodesic Voronoi mesh without the land, cut by recursive
// bisection, and only resemble MPAS-Ocean's. bench/results/maps.md compares the maps in figures.
package e3smcases
