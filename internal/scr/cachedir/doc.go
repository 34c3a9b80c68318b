// Package cachedir reads and writes what SCR keeps on a node: which datasets are
// in its caches, and their files by rank.
//
//	<control folder>/
//	  cindex.scrinfo                    the datasets of the node             Catalog
//	<cache folder>/scr.dataset.<id>/    a dataset
//	  <files of the application>
//	  .scr/
//	    filemap_<rank>                  the files of a rank                  Filemap
//	    reddescmap.er.<rank>.*          redundancy of filemap_<rank>         package redset
//	    reddesc.er.<rank>.*             redundancy of the rank's files       package redset
//	    <group>er                       can the group be trusted             ReadState
//	    <group>shuffile                 whose files are on this device       ReadShuffile
//
// All are key/value trees (package kvtree), replaced whole. A group is MapGroup or
// DataGroup. Survey finds what of all this is there, Delete removes a dataset.
// Files of SCR 1 and 2 are read, too.
//
// A file map is on disk before its files are, and is removed after them. Survey
// compares sizes only: who delivers bytes compares checksums (META/CRC, which the
// reference ignores, and the sums of package redset).
//
// docs/format-scr.md has the trees.
//
// Read first: catalog.go, survey.go.
package cachedir
