// Package arrays recognises the directories of package versioned by their names, without reading their files.
package arrays

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"blobio/internal/base/vfs"
)

// Seals are the names of the two files that hold the record of an array. Each has the whole record, so one may be lost.
var Seals = []string{"versions", "versions.second"}

// DataName matches the names of data files.
var DataName = regexp.MustCompile(`^g\d+-v\d+-r\d+\.fti$`)

// List returns the names of the arrays in a store, sorted.
func List(dir string, fsys vfs.FS) ([]string, error) {
	fsys = vfs.OrOS(fsys)
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		if Is(filepath.Join(dir, e.Name()), fsys) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// Is reports whether a directory holds an array. It returns true also if the directory has data files but no seal, because the
// record may be lost.
func Is(dir string, fsys vfs.FS) bool {
	fsys = vfs.OrOS(fsys)
	list, _ := fsys.ReadDir(dir)
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && (slices.Contains(Seals, e.Name()) || DataName.MatchString(e.Name()))
	})
}

var memberRE = regexp.MustCompile(`^(.+)\.(?:level(\d{1,2})|(global))$`)

// If an array belongs to a hierarchy, Member returns the name of the hierarchy and the level, which is -1 for the array of the
// snapshots. For other arrays it returns "".
func Member(array string) (hierarchy string, level int) {
	m := memberRE.FindStringSubmatch(array)
	switch {
	case m == nil:
		return "", 0
	case m[3] != "":
		return m[1], -1
	}
	n, _ := strconv.Atoi(m[2])
	return m[1], n
}

// Stamp identifies the state of an array by its seals, without reading them. Each commit changes the stamp. It is "" if there is
// no file with a seal's name. Stamp does not check that such a file is a seal. info describes the newer of the two files.
func Stamp(dir string, fsys vfs.FS) (stamp string, info fs.FileInfo, err error) {
	for _, n := range Seals {
		one, err := vfs.OrOS(fsys).Stat(filepath.Join(dir, n))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !one.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		stamp += n + "|" + vfs.Identity(one) + "|"
		if info == nil || one.ModTime().After(info.ModTime()) {
			info = one
		}
	}
	return stamp, info, nil
}
