// Package spath does with slash-separated paths what Go's package path lacks:
// one path relative to another, whether one lies below another, and the same
// after symbolic links.
//
// Names in the metadata files of SCR are written with '/' on every system. A
// path is its components between slashes: an empty first one means absolute,
// an empty last one a trailing slash, and no components at all (the empty
// string) the null path.
//
//	operation of the original     here
//	reduce                        Reduce (path.Clean, but the null path stays null)
//	relative                      Relative
//	append, prepend               path.Join
//	dirname, basename             path.Dir, path.Base
//	is_absolute                   path.IsAbs
//
// IsChild is of the text alone; Inside follows symbolic links on disk.
//
// Read first: spath.go.
package spath
