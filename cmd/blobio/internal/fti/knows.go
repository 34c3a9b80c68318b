package fti

import (
	"os"
	"path/filepath"
	"strings"

	"blobio/internal/vfs"
)

// Knows says that a path is a checkpoint file of FTI, a store of them, or a place in one. A file that ends in .fti is
// taken for one whatever is in it: its metadata are at its end, and may be torn. Others are searched for them, which takes
// long, but not those that begin as netCDF or HDF5 files do.
func Knows(path string) bool {
	if _, ok := parseFFPlace(path); ok {
		return true
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		list, _, err := ffPaths(path)
		return err == nil && len(list) > 0
	case !info.Mode().IsRegular():
		return false
	case filepath.Ext(path) == ".fti":
		return true
	}
	if b, _ := vfs.ReadStream(path, 4); strings.HasPrefix(string(b), "CDF") || string(b) == "\x89HDF" {
		return false
	}
	f, _, err := openFFReader(path, false)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
