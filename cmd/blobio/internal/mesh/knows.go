package mesh

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/amr/cello"
	"blobio/blob"
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

// KnowsNative says that a path is a dataset of blocks.
func KnowsNative(path string) bool {
	r, err := blob.Open(context.Background(), path, &blob.OpenOptions{AllowMissing: true})
	if err != nil {
		return false
	}
	defer r.Close()
	_, there := r.Schema().VarID("block_level")
	return there
}
