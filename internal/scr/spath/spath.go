package spath

import (
	"path"
	"strings"

	"blobio/internal/base/fault"
)

// Reduce drops ".", "..", empty components and a trailing slash. Above the root
// of an absolute path is the root; ".." at the front of a relative path stays.
// A path that reduces to nothing is the null path "".
func Reduce(p string) string {
	if p = path.Clean(p); p == "." {
		return ""
	}
	return p
}

// Relative returns dst as seen from the directory src: from /hello/world,
// /hello/foo is ../foo, and /hello/world is ".". Both must be absolute or both
// relative, and src must not begin with ".." where that hides what the way
// back is called; else ErrUsage.
func Relative(src, dst string) (string, error) {
	if path.IsAbs(src) != path.IsAbs(dst) {
		return "", fault.Usage("%q relative to %q: one is absolute", dst, src)
	}
	s, d := steps(src), steps(dst)
	k := 0
	for k < len(s) && k < len(d) && s[k] == d[k] {
		k++
	}
	var out []string
	for _, c := range s[k:] {
		if c == ".." {
			return "", fault.Usage("%q relative to %q: cannot resolve the parent directory", dst, src)
		}
		out = append(out, "..")
	}
	out = append(out, d[k:]...)
	if len(out) == 0 {
		return ".", nil
	}
	return strings.Join(out, "/"), nil
}

// IsChild reports whether child lies strictly below parent, after reduction and
// by the text alone. An absolute path is never below a relative one, nor the
// other way round; what climbs with ".." is below nothing.
func IsChild(parent, child string) bool {
	if path.IsAbs(parent) != path.IsAbs(child) {
		return false
	}
	p, c := steps(parent), steps(child)
	if len(c) <= len(p) {
		return false
	}
	for i := range p {
		if p[i] != c[i] {
			return false
		}
	}
	return c[len(p)] != ".."
}

// steps are the components of the reduced path, without the empty one that an
// absolute path begins with.
func steps(p string) []string {
	p = strings.TrimPrefix(Reduce(p), "/")
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}
