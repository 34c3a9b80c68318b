package spath

import (
	"path"
	"strings"

	"blobio/internal/base/fault"
)

// Reduce drops ".", "..", empty components and a trailing slash. ".." at the root of an absolute path is dropped; ".." at the
// front of a relative path stays. A path that reduces to nothing is the null path "".
func Reduce(p string) string {
	if p = path.Clean(p); p == "." {
		return ""
	}
	return p
}

// Relative returns the path from the directory src to dst. From /hello/world, the path to /hello/foo is ../foo, and to
// /hello/world it is ".". Both must be absolute or both relative. The error is ErrUsage if src begins with ".." and the names
// needed for the way back are unknown.
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

// IsChild reports whether child lies strictly below parent, after reduction and by comparing text only. An absolute path is never
// below a relative one, or the reverse. A path that begins with ".." is below no path.
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

// steps returns the components of the reduced path, without the empty first component of an absolute path.
func steps(p string) []string {
	p = strings.TrimPrefix(Reduce(p), "/")
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}
