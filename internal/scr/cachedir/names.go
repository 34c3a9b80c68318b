package cachedir

import (
	"path"
	"strconv"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/scr/record"
)

// Names in the control folder of a node and in the folder D of a cached dataset. [A,B] marks names that only generations A and B
// use.
const (
	CatalogName = "cindex.scrinfo"  // the catalogue, in the control folder
	MasterName  = "filemap.scrinfo" // [A,B] the list of the file maps, in the control folder
	MapGroup    = "reddescmap.er."  // name prefix of the files that protect the file maps, in MetaDir(D)
	DataGroup   = "reddesc.er."     // name prefix of the files that protect the application's files, in MetaDir(D)

	metaName      = ".scr"
	filemapPrefix = "filemap_"
	stateName     = "er"
	shuffileName  = "shuffile"
	redsetSuffix  = ".redset"
	redsumSuffix  = ".redsum"
)

// MetaDir returns the metadata folder of a cached dataset whose folder is dir.
func MetaDir(dir string) string { return path.Join(dir, metaName) }

// FilemapName returns the path of a rank's file map for a cached dataset whose folder is dir.
func FilemapName(dir string, rank int) string {
	return path.Join(MetaDir(dir), filemapPrefix+strconv.Itoa(rank))
}

// GroupFile returns the path of a file of a redundancy group for a cached dataset whose folder is dir. The file name is the group
// name followed by end.
func GroupFile(dir, group, end string) string { return path.Join(MetaDir(dir), group+end) }

// RankOf returns the rank from the name of a file map or redundancy file in MetaDir. ok is false for unfinished files, and for
// files that belong to the device and not to a rank.
func RankOf(name string) (rank int, ok bool) {
	if durable.IsTemp(name) {
		return 0, false
	}
	if text, ok := strings.CutPrefix(name, filemapPrefix); ok {
		return record.Number(text)
	}
	return redundancyRank(name)
}

// redundancyRank returns the rank of a redundancy file <group><rank>.{...redset,redsum}.
func redundancyRank(name string) (int, bool) {
	for _, g := range []string{MapGroup, DataGroup} {
		rest, ok := strings.CutPrefix(name, g)
		if !ok || !strings.HasSuffix(rest, redsetSuffix) && !strings.HasSuffix(rest, redsumSuffix) {
			continue
		}
		text, _, _ := strings.Cut(rest, ".")
		return record.Number(text)
	}
	return 0, false
}
