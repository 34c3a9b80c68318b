package versions

import "blobio/versioned"

// Knows says that a path is the directory of a store of versions, or of one of its arrays.
func Knows(path string) bool {
	if versioned.IsArray(path, nil) {
		return true
	}
	list, err := versioned.List(path, nil)
	return err == nil && len(list) > 0
}
