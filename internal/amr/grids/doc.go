// Package grids is about the values of adaptive meshes: cells in boxes of several levels, of
// which a cell counts only where no finer level covers it.
//
//	Mesh                  what there is: levels, boxes, fields, particles
//	OfBlocks              from blocks of a tree
//	Mesh.Stats            totals weighted by volume, extrema with their place, by level
//	Mesh.Fill             a region as a uniform array
//	Diff                  two meshes, whatever their order or refinement
//
// Values are float64, which all types but 64-bit integers beyond 2^53 fit. A field on faces has in a cell the mean of its two faces.
//
// Read first: mesh.go, blocks.go.
package grids
