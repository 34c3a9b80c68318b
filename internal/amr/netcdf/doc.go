// Package netcdf is the netCDF form of a Cello checkpoint: one CDF-5 file with a row for each block, which all netCDF tools
// read. It is computed when it is read; File.WriteTo writes it.
//
// Rows are the blocks of all levels in the order of the checkpoint, refined ones and those below level 0 too. Fields are
// variables field_NAME(block, z, y, x); particles of all blocks lie one after the other.
//
// docs/format-blocks.md has all names and attributes.
//
// Read first: file.go, layout.go.
package netcdf
