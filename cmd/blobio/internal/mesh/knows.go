package mesh

import (
	"context"
	"os"
	"path/filepath"

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
	lists, _ := filepath.Glob(filepath.Join(filepath.Clean(path), "*.block_list"))
	return len(lists) > 0 || exists(filepath.Join(path, celloList)) || cello.Writing(path)
}

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
