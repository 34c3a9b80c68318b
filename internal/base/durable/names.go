package durable

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"blobio/internal/base/vfs"
)

// Hidden names of outputs: ".NAME.1a2b3c4d.partial".
const (
	hiddenDigits = 8
	hiddenSuffix = ".partial"
)

// HiddenName returns the hidden name of the output name for the holder with that ID. The hidden name does not end in a number,
// because names of subfiles do.
func HiddenName(name, id string) string {
	dir, base := filepath.Split(name)
	tag := id[:hiddenDigits]
	if strings.Trim(tag, "0123456789") == "" {
		tag = "a" + tag[1:]
	}
	return dir + "." + base + "." + tag + hiddenSuffix
}

// HiddenOf returns the output of a hidden file. Both are names without a directory.
func HiddenOf(file string) (name string, ok bool) {
	rest, ok := strings.CutSuffix(file, hiddenSuffix)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 2 || rest[0] != '.' || len(rest)-dot-1 != hiddenDigits {
		return "", false
	}
	_, err := hex.DecodeString(rest[dot+1:])
	return rest[1:dot], err == nil
}

// HiddenFiles lists the hidden files and directories of the output name, from active and dead writers.
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

// SweepHidden removes the files and directories that HiddenFiles lists, with their contents. The caller holds the lease of name,
// so a former holder that is alive fails at its rename. Another user's file stays if the directory lets only its owner remove it.
// Such a file blocks no writer, and its owner could create it again anyway.
func SweepHidden(fsys vfs.FS, name string) error {
	list, err := HiddenFiles(fsys, name)
	for _, t := range list {
		if rerr := vfs.RemoveAll(fsys, t); !errors.Is(rerr, fs.ErrPermission) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// tagDigits is the number of ID digits in a tag.
const tagDigits = 8

// TagOf returns the tag of an ID for file names: a w and 8 hexadecimal digits, so no tag is a number. It returns "" if the ID is
// too short.
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
