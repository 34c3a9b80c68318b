package spath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Inside reports whether name lies strictly below the directory dir after all symbolic links of both are followed. Both are paths
// of the operating system, relative to the working directory or absolute. Components that do not exist have no links: name may be
// a file and directories to be created. The error comes from the operating system (a loop of links, no permission).
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

// Real returns the absolute path after following the links of its longest existing part. The error comes from the operating
// system.
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
			// A dangling link: its destination is unknown until the target exists, so the path counts as an error.
			return "", err
		}
		missing = filepath.Join(filepath.Base(at), missing)
		at = up
	}
}
