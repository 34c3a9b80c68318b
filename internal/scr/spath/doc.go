// Package spath adds two operations on slash-separated paths that Go's package path lacks.
// One makes relative paths. The other tests whether one path lies below another, with or
// without following symbolic links.
//
// Names in the metadata files of SCR are written with '/' on every system. A path is a
// list of components between slashes. If the first component is empty, the path is
// absolute. If the last component is empty, the path has a trailing slash. The empty
// string is the null path.
//
//	operation of SCR's spath      here
//	reduce                        Reduce (path.Clean, but the null path stays null)
//	relative                      Relative
//	append, prepend               path.Join
//	dirname, basename             path.Dir, path.Base
//	is_absolute                   path.IsAbs
//
// IsChild compares only text; Inside follows symbolic links on disk.
//
// Read first: spath.go.
package spath
