// Package netcdf presents a Cello checkpoint as one CDF-5 file, which all netCDF tools can read. The file has a row for each
// block. Its bytes are computed when they are read; File.WriteTo writes them to a file.
//
// Rows are the blocks of all levels in the order of the checkpoint, including refined ones and those below level 0. Fields are
// variables field_NAME(block, z, y, x). The particles of all blocks follow one another.
//
// docs/format-blocks.md lists all names and attributes.
//
// Read first: file.go, layout.go.
package netcdf
