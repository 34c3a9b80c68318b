// Package cachedir reads and writes the metadata that SCR keeps on a node: the list of
// the datasets in its caches, and their files by rank.
//
//	<control folder>/
//	  cindex.scrinfo                    the datasets of the node             Catalog
//	<cache folder>/scr.dataset.<id>/    a dataset
//	  <files of the application>
//	  .scr/
//	    filemap_<rank>                  the files of a rank                  Filemap
//	    reddescmap.er.<rank>.*          redundancy of filemap_<rank>         package redset
//	    reddesc.er.<rank>.*             redundancy of the rank's files       package redset
//	    <group>er                       state of the group                   ReadState
//	    <group>shuffile                 files on this device, by rank        ReadShuffile
//
// All files are key/value trees (package kvtree) and are replaced whole. A group is
// MapGroup or DataGroup. Survey finds all of these files, and Delete removes a dataset.
// The package also reads files of SCR 1 and 2.
//
// A file map is written before its files and removed after them. Survey compares only
// sizes. Code that copies or restores bytes compares checksums (META/CRC, which the
// original SCR ignores, and the checksums of package redset).
//
// docs/format-scr.md describes the trees.
//
// Read first: catalog.go, survey.go.
package cachedir
