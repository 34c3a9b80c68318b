package spath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Inside reports whether name lies strictly below the directory dir after all symbolic links in both paths are followed. Both are
// paths of the operating system, absolute or relative to the working directory. name may end with components that do not exist
// yet; they are taken as they are. An error comes from the operating system, for example for a loop of links.
func Inside(dir, name string) (bool, error) {
	d, err := Real(dir)
	if err != nil {
		return false, err
	}
	n, err := Real(name)
	if err != nil {
		return false, err
	}
	if filepath.VolumeName(d) != filepath.VolumeName(n) {
		return false, nil
	}
	return IsChild(filepath.ToSlash(d), filepath.ToSlash(n)), nil
}

// Real returns the absolute path after following the links in the longest part of name that exists. An error comes from the
// operating system.
func Real(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	missing := ""
	for at := name; ; {
		r, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(r, missing), nil
		}
		up := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || up == at {
			return "", err
		}
		if st, e := os.Lstat(at); e == nil && st.Mode()&fs.ModeSymlink != 0 {
			// The target of a link does not exist. Then it is unknown where the path will lead, and Real returns an error.
			return "", err
		}
		missing = filepath.Join(filepath.Base(at), missing)
		at = up
	}
}
