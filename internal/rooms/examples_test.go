package rooms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// publicPackages are the folders of the packages that others can import, with their parsed files.
func publicPackages(t *testing.T) map[string][]*ast.File {
	list := map[string][]*ast.File{}
	texts(t, func(name, text string) {
		dir := path.Dir(name)
		if inner(dir) || strings.HasSuffix(name, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name != "main" {
			list[dir] = append(list[dir], f)
		}
	}, ".go")
	return list
}

// inner says that nobody else can import the package of a folder.
func inner(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool {
		return s == "internal" || s == "examples" || s == "cmd" || strings.HasPrefix(s, ".")
	})
}

// TestExamples: each public package has a runnable example of what a user does with it, with nothing that a user lacks.
func TestExamples(t *testing.T) {
	without := []string{"comm/mpi"} // wants mpirun
	found := map[string]bool{}
	texts(t, func(name, text string) {
		dir := path.Dir(name)
		if path.Base(name) != "example_test.go" || inner(dir) {
			return
		}
		found[dir] = strings.Contains(text, "\nfunc Example") && strings.Contains(text, "// Output:")
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f.Name.Name, "_test") {
			t.Errorf("%s is inside of the package that it shows", name)
		}
		for _, i := range f.Imports {
			if p, err := strconv.Unquote(i.Path.Value); err != nil || slices.Contains(strings.Split(p, "/"), "internal") {
				t.Errorf("%s imports %s, which a user cannot", name, i.Path.Value)
			}
		}
	}, "_test.go")
	for dir := range publicPackages(t) {
		if !found[dir] && !slices.Contains(without, dir) {
			t.Errorf("%s has no example: example_test.go with a func Example and its Output", dir)
		}
	}
}

// TestPackageComments: go doc shows the declarations of a package on the first screen. Formats are pages of docs.
func TestPackageComments(t *testing.T) {
	const most = 30 // lines
	for dir, files := range publicPackages(t) {
		lines := 0
		for _, f := range files {
			if f.Doc != nil {
				lines += strings.Count(f.Doc.Text(), "\n")
			}
		}
		if lines == 0 || lines > most {
			t.Errorf("the comment of package %s has %d lines, want 1 to %d", dir, lines, most)
		}
	}
}
