package durable

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/base/vfs"
)

// An output is written under a hidden name: ".NAME.1a2b3c4d.partial".
const (
	hiddenDigits = 8
	hiddenSuffix = ".partial"
)

// HiddenName returns the name under which the holder with that ID writes the output name. No number stands in it, for
// that would be a subfile's.
func HiddenName(name, id string) string {
	dir, base := filepath.Split(name)
	tag := id[:hiddenDigits]
	if strings.Trim(tag, "0123456789") == "" {
		tag = "a" + tag[1:]
	}
	return dir + "." + base + "." + tag + hiddenSuffix
}

// HiddenOf says to which output a hidden file belongs, for names without a directory.
func HiddenOf(file string) (name string, ok bool) {
	rest, ok := strings.CutSuffix(file, hiddenSuffix)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 2 || rest[0] != '.' || len(rest)-dot-1 != hiddenDigits {
		return "", false
	}
	_, err := hex.DecodeString(rest[dot+1:])
	return rest[1:dot], err == nil
}

// HiddenFiles lists the hidden files of the output name, and hidden directories of outputs that are made of several files: of a
// writer at work, and of those that died.
func HiddenFiles(fsys vfs.FS, name string) (list []string, err error) {
	dir, base := filepath.Split(name)
	entries, err := fsys.ReadDir(filepath.Dir(name))
	for _, e := range entries {
		if of, ok := HiddenOf(e.Name()); ok && of == base {
			list = append(list, dir+e.Name())
		}
	}
	return list, err
}

// SweepHidden removes the files and directories that HiddenFiles lists, with everything in them. It is for the holder of the lease of name: a former
// holder that is alive after all fails at its rename. Files that may not be removed, in a directory where each user removes only
// their own files, stay: such a file keeps nobody from writing, and its owner could give it that name at any time.
func SweepHidden(fsys vfs.FS, name string) error {
	list, err := HiddenFiles(fsys, name)
	for _, t := range list {
		if rerr := vfs.RemoveAll(fsys, t); !errors.Is(rerr, fs.ErrPermission) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// tagDigits is how many digits of an ID a tag has.
const tagDigits = 8

// TagOf returns the part of an ID that stands in file names: a w and 8 hexadecimal digits, so that no tag is a
// number. An ID that is too short gives "".
func TagOf(id string) string {
	if len(id) < tagDigits {
		return ""
	}
	return "w" + id[:tagDigits]
}

// IsTag reports whether s has the form of a tag.
func IsTag(s string) bool {
	return len(s) == 1+tagDigits && s[0] == 'w' && strings.Trim(s[1:], "0123456789abcdef") == ""
}
