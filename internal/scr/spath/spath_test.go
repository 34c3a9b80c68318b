package spath

import (
	"blobio/internal/base/fault"
	"errors"
	"os"
	"path"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func TestReduce(t *testing.T) {
	for in, want := range map[string]string{
		"/hello/world/../foo/bar/.././": "/hello/foo",
		"":                              "",
		".":                             "",
		"./":                            "",
		"a/..":                          "",
		"/":                             "/",
		"//":                            "/",
		"/..":                           "/",
		"/../a":                         "/a",
		"../a/":                         "../a",
		"a//b/":                         "a/b",
		"./a/./b":                       "a/b",
	} {
		if got := Reduce(in); got != want {
			t.Errorf("Reduce(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, c := range []struct{ src, dst, want string }{
		{"/hello/world", "/hello/foo", "../foo"},
		{"/hello/world", "/hello/world", "."},
		{"/hello/world/", "/hello/world/a/b", "a/b"},
		{"/", "/a", "a"},
		{"/a/b", "/", "../.."},
		{"/a/./c/../b", "/a/b/x", "x"},
		{"a/b", "a/c", "../c"},
		{"", "a", "a"},
		{"../a", "../b", "../b"},
		{"/ab", "/a", "../a"},
	} {
		if got, err := Relative(c.src, c.dst); err != nil || got != c.want {
			t.Errorf("Relative(%q, %q) = %q, %v; want %q", c.src, c.dst, got, err, c.want)
		}
	}
	for _, c := range [][2]string{{"/a", "b"}, {"a", "/b"}, {"..", "a"}, {"../../x", "../y"}} {
		if got, err := Relative(c[0], c[1]); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("Relative(%q, %q) = %q, %v; want fault.ErrUsage", c[0], c[1], got, err)
		}
	}
}

func TestIsChild(t *testing.T) {
	for _, c := range []struct {
		parent, child string
		want          bool
	}{
		{"/p", "/p/a", true},
		{"/p/", "/p/a/../b", true},
		{"/p", "/p", false},
		{"/p", "/p/.", false},
		{"/p", "/p/../q", false},
		{"/p", "/pq/a", false}, // /p is a prefix of the text, but not a parent of the path
		{"/", "/a", true},
		{"/", "/", false},
		{"p", "p/a", true},
		{"p", "/p/a", false},
		{"/p", "p/a", false},
		{"", "a", true},
		{"", "../a", false},
		{".", "a", true},
		{"..", "../a", true},
		{"..", "../../a", false},
	} {
		if got := IsChild(c.parent, c.child); got != c.want {
			t.Errorf("IsChild(%q, %q) = %v", c.parent, c.child, got)
		}
	}
}

// The relative path must lead from src to dst. The path to a child must not contain
// "..".
func TestRelativeArrives(t *testing.T) {
	gen := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "..", ".", "", "cc"}), 0, 7),
		func(c []string) string { return "/" + path.Join(c...) })
	rapid.Check(t, func(t *rapid.T) {
		src, dst := gen.Draw(t, "src"), gen.Draw(t, "dst")
		rel, err := Relative(src, dst)
		if err != nil {
			t.Fatal(err)
		}
		if got := path.Join(src, rel); got != Reduce(dst) {
			t.Fatalf("from %q along %q: %q, want %q", src, rel, got, dst)
		}
		if child := rel != "." && steps(rel)[0] != ".."; child != IsChild(src, dst) {
			t.Fatalf("IsChild(%q, %q) is not %v", src, dst, child)
		}
	})
}

func TestInside(t *testing.T) {
	dir := t.TempDir()
	prefix, other := filepath.Join(dir, "prefix"), filepath.Join(dir, "other")
	for _, d := range []string{prefix, other} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, want bool) {
		t.Helper()
		if got, err := Inside(prefix, name); err != nil || got != want {
			t.Errorf("Inside(%s) = %v, %v; want %v", name, got, err, want)
		}
	}
	check(filepath.Join(prefix, "new", "dir", "file"), true)
	check(filepath.Join(other, "file"), false)
	check(prefix, false)
	if err := os.Symlink(other, filepath.Join(prefix, "out")); err != nil {
		t.Skipf("SKIPPED: no symbolic links: %v", err)
	}
	if err := os.Symlink(prefix, filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	check(filepath.Join(prefix, "out", "file"), false) // the link leads out of the prefix directory
	check(filepath.Join(dir, "in", "file"), true)
	check(filepath.Join(dir, "in"), false)
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(prefix, "dangling")); err != nil {
		t.Fatal(err)
	}
	if got, err := Inside(prefix, filepath.Join(prefix, "dangling", "x")); err == nil {
		t.Errorf("below a dangling link: %v, want an error", got)
	}
}
