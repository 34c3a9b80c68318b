// Package netcdf provides the netCDF form of a Cello checkpoint: one CDF-5 file with a row for each block, which all netCDF tools
// read. The form is computed on reading; File.WriteTo writes it to a file.
//
// Rows are the blocks of all levels in the order of the checkpoint, including refined ones and those below level 0. Fields are
// variables field_NAME(block, z, y, x). The particles of all blocks follow one another.
//
// docs/format-blocks.md lists all names and attributes.
//
// Read first: file.go, layout.go.
package netcdf
