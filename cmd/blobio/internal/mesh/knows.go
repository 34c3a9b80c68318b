package mesh

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/amr/cello"
)

// Knows says that a path is a checkpoint of Cello, whole or not: its directory, or the list of files in it.
func Knows(path string) bool {
	if filepath.Base(path) == celloList {
		return exists(path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return false
	}
	list, _ := os.ReadDir(path)
	return slices.ContainsFunc(list, isBlockList) || exists(filepath.Join(path, celloList)) || cello.Writing(path)
}

func isBlockList(d os.DirEntry) bool { return strings.HasSuffix(d.Name(), ".block_list") }
