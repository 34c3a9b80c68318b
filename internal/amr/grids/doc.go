// Package grids is about the values of adaptive meshes: cells in boxes of several levels, of
// which a cell counts only where no finer level covers it.
//
//	Mesh                  levels, boxes, fields, particles
//	OfBlocks              makes a mesh from blocks of a tree
//	Mesh.Stats            totals weighted by volume, extrema with their place, by level
//	Mesh.Fill             returns a region as a uniform array
//	Diff                  compares two meshes of any order or refinement
//
// Values are float64, which all types but 64-bit integers beyond 2^53 fit. A field on faces has in a cell the mean of its two faces.
//
// Read first: mesh.go, blocks.go.
package grids
