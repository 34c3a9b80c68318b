package spath

import (
	"path"
	"strings"

	"blobio/internal/base/fault"
)

// Reduce removes ".", "..", empty components and a trailing slash. It removes ".." at the root of an absolute path, and keeps
// ".." at the beginning of a relative path. If nothing is left, it returns the null path "".
func Reduce(p string) string {
	if p = path.Clean(p); p == "." {
		return ""
	}
	return p
}

// Relative returns the path that leads from the directory src to dst. For example, the path from /hello/world to /hello/foo is
// ../foo, and the path to /hello/world is ".". Both paths must be absolute, or both relative. The error is ErrUsage if src begins
// with ".." and the path back into it contains unknown names.
func Relative(src, dst string) (string, error) {
	if path.IsAbs(src) != path.IsAbs(dst) {
		return "", fault.Usage("%q relative to %q: one path is absolute, and the other is relative", dst, src)
	}
	s, d := steps(src), steps(dst)
	k := 0
	for k < len(s) && k < len(d) && s[k] == d[k] {
		k++
	}
	var out []string
	for _, c := range s[k:] {
		if c == ".." {
			return "", fault.Usage("%q relative to %q: the name of a parent directory is unknown", dst, src)
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
// below a relative path, nor a relative path below an absolute path. A path that begins with ".." is below no path.
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
