package spath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Inside reports whether name lies strictly below the directory dir, once the
// symbolic links of both are followed. Both are paths of the operating system;
// relative ones start in the working directory. A path that does not exist yet has no
// links: name may be a file to be created, in directories to be created.
// The error is the operating system's (a loop of links, no permission).
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

// Real returns the absolute path with the links of its longest existing part
// followed. The error is the operating system's.
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
			// A link to what is not there: where it leads is not known before its
			// target exists, so it is not vouched for.
			return "", err
		}
		missing = filepath.Join(filepath.Base(at), missing)
		at = up
	}
}
