// Package grids computes with the values of adaptive meshes. A mesh has cells in boxes of several levels. A cell is used only if
// no finer level covers it.
//
//	Mesh                  levels, boxes, fields, particles
//	OfBlocks              makes a mesh from blocks of a tree
//	Mesh.Stats            computes totals weighted by volume, and extrema with their places, by level
//	Mesh.Fill             returns a region as a uniform array
//	Diff                  compares two meshes, whatever the order of their blocks and their refinement
//
// Values are float64, which represents all types exactly except 64-bit integers beyond 2^53. For a face-centred field, the value
// of a cell is the mean of its two faces.
//
// Read first: mesh.go, blocks.go.
package grids
