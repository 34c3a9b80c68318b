package blob

import (
	"blobio/internal/vfs"
	"blobio/subfile"
)

// A name like F.nc.2024 may be that of a subfile, and of any other file. What is in it decides, where no manifest does.

// blobHeader returns what the header of a file says if that of a subfile is in it, nil otherwise.
func blobHeader(fsys vfs.FS, name string) *place {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil
	}
	if pl, _, err := decodePlace(f, size, name); err == nil && pl.layout != Canonical {
		return pl
	}
	return nil
}

// holdsSubfile says whether subfile i of a dataset is in a file of that name.
func holdsSubfile(fsys vfs.FS) func(name string, i int) bool {
	return func(name string, i int) bool {
		pl := blobHeader(fsys, name)
		return pl != nil && i < pl.shape.subfiles
	}
}

// withoutStrays returns the members of a dataset without manifest: the first says of how many, and what has a number beyond
// them must look like a subfile to count.
func withoutStrays(fsys vfs.FS, found *subfile.Set) *subfile.Set {
	first := -1
	for i := range found.Members {
		if first < 0 || i < first {
			first = i
		}
	}
	if first < 0 {
		return found
	}
	pl := blobHeader(fsys, found.Members[first])
	if pl == nil {
		return found // reading it tells why
	}
	set := *found
	set.Members = map[int]string{}
	for i, name := range found.Members {
		if i < pl.shape.subfiles || blobHeader(fsys, name) != nil {
			set.Members[i] = name
		}
	}
	return &set
}
