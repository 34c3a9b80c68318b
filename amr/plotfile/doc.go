// Package plotfile reads, checks and writes plotfiles of AMReX (formerly BoxLib): a directory with a text file Header, and for each level a directory with a
// text file Cell_H and binary files Cell_D_nnnnn, each of which holds the grids of one rank or more.
//
//	Plotfile     an open one: Header, levels, grids; Read gives a field of a grid
//	Check        what is wrong with one
//	Write        a new one, grid by grid
//	Tree         one as blocks of package amr, a blocks.Source
//
// Read are one to three dimensions, any number of levels with a ratio for each axis, Cell_H of the versions 1 to 4 (FABs with and without headers of their
// own), float and double in either byte order, grids with ghost cells, and particles of Version_Two. Not read are fields at nodes or faces, the text and 8-bit
// forms of FABs, and particles of Version_One.
//
// What is written has a file blobio.manifest beside what AMReX writes, with checksums; other readers do not look at it.
//
// The facts are from AMReX's documentation (Plotfile format, VisMF) and headers. docs/format-plotfile.md has them.
package plotfile
