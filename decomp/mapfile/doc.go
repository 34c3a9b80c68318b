// Package mapfile reads and writes files of decomposition maps: the text that PIO and Scorpio dump (.dat), and the maps of
// E3SM-IO in CDF (any version), HDF5 and netCDF-4. The content determines the format of a file, never its name. For an
// ADIOS BP file the error names the format.
//
//	Open, Read                     a File: the maps D1, D2, ... of one run
//	Raw.Map                        the map of any number of ranks
//	WriteDat, WriteCDF, WriteHDF5  map files; FromMaps makes a File of maps
//
// A map file describes map processes: the processes of the run that produced it. Raw.Map distributes them to the ranks of
// another run. Offsets are canonical, in elements from 0; in .dat files and in raw_offsets they count from 1. A filler is a
// request for elements that no process owns, which get fill values.
//
// Limits: 2^21 map processes, 64 dimensions, 4096 maps. Requests must be within the array. Lists are read process by
// process and stored compactly, so reading needs memory for the requests of one process and for the result.
//
// Errors have the classes of package cdf5, such as cdf5.ErrCorrupt. ErrNotFormat means a file without a map, ErrVersion a
// PIO text with another version than 2001, ErrUnsupported an ADIOS file, ErrRange a request outside the array. A fault of a
// file is a cdf5.FormatError.
//
// docs/format-maps.md has the formats.
//
// Read first: file.go, layout.go, slice.go.
package mapfile
