// Package cachedir reads and writes what SCR keeps on a node: which datasets are in
// its caches, and which files of which ranks.
//
//	<control folder>/
//	  cindex.scrinfo                    the datasets of the node             Catalog
//	<cache folder>/scr.dataset.<id>/    a dataset: the folder D below
//	  <files of the application>
//	  .scr/
//	    filemap_<rank>                  the files of a rank                  Filemap
//	    reddescmap.er.<rank>.*          redundancy of filemap_<rank>         package redset
//	    reddesc.er.<rank>.*             redundancy of the rank's files       package redset
//	    <group>er                       can the group be trusted             ReadState
//	    <group>shuffile                 whose files are on this device       ReadShuffile
//	    node.scrinfo                    ours: all of these in one            Packed
//
// All are key/value trees (package kvtree), replaced whole. A group is one of MapGroup
// and DataGroup. Survey finds what of all this is there, Delete removes a dataset.
//
// # Trees (generation C)
//
//	cindex.scrinfo      DSET/<id>/{PATH/<D>, BYPASS/<0|1>, DSETDESC/<dataset record>} + PACKED/1: ours
//	filemap_<rank>      FILE/<absolute name>/META/<file record>; the head of the list was registered last
//	<group>er           STATE/<1 corrupt | 2 encoded>
//	<group>shuffile     RANK/<rank>/{FILES/<n>, FILE/<absolute name>}: what the group protects, and its
//	                    redundancy files
//	node.scrinfo        VERSION/1, STATE/<of DataGroup>, RANK/<rank>/<file map>, COPY/<rank>/<file map>,
//	                    FILE/<base name>/<base64>
//
// The records are those of package record. With BYPASS the files of the application are
// in the prefix directory, and D holds only .scr.
//
// # Generations A and B, read only
//
//	<control folder>/filemap.scrinfo        Filemap/<name of a map>
//	<control folder>/filemap_<n>.scrinfo    RANK/<rank>/DSET/<id>/{FILES/<n>, FILE/<absolute name>/META/<file record>,
//	                                        DSETDESC/<dataset record>, REDDESC, FLUSH}, DSET/<id>/RANK/<rank>
//
// One map per process of a node. Files of TYPE XOR are redundancy files; those of TYPE
// PARTNER are copies of another rank's files, listed below that rank.
//
// # Packed layout (ours, opt-in)
//
// The reference has, for each rank and dataset, a file map, three files that protect it
// and three of DataGroup. node.scrinfo has the maps of all ranks of a node, and
// copies of those of their left neighbours in the redundancy sets, as many as losses are
// survived: with any member of a set that may be lost, its map is on the node
// of another. It has the descriptors and checksums of DataGroup too, as FILE/<base
// name>/<base64>. What is left in .scr is one file per node, and those with payload.
//
// # What can be trusted
//
// A file map is on disk before its files are, and is removed after them. Survey compares
// sizes only: who delivers bytes compares checksums (META/CRC, which the reference ignores,
// and the sums of package redset).
package cachedir
