package rooms

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered are the packages whose files use each other in one direction, so that each can be read with what is below it.
var layered = []string{"versioned", "ffformat/ffstore", "recovery"}

// noImports stands for all other packages: names of a package are found without them.
type noImports struct{}

func (noImports) Import(p string) (*types.Package, error) {
	pkg := types.NewPackage(p, path.Base(p))
	pkg.MarkComplete()
	return pkg, nil
}

// uses says which files of a package use what other files of it declare: by file, then by the other one, one of the names.
func uses(dir string) (map[string]map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, n := range names {
		if ok, err := build.Default.MatchFile(dir, filepath.Base(n)); err != nil || !ok || strings.HasSuffix(n, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, n, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}} // what is of other packages is not known
	pkg, _ := conf.Check(dir, fset, files, info)
	out := map[string]map[string]string{}
	for id, o := range info.Uses {
		if v, ok := o.(*types.Var); o.Pkg() != pkg || o.Parent() != nil && o.Parent() != pkg.Scope() || ok && o.Parent() == nil && !v.IsField() {
			continue
		}
		from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(o.Pos()).Filename)
		if from == to {
			continue
		}
		if out[from] == nil {
			out[from] = map[string]string{}
		}
		if was := out[from][to]; was == "" || o.Name() < was {
			out[from][to] = o.Name()
		}
	}
	return out, nil
}

// circle returns files that use each other in a circle, nil if there are none.
func circle(uses map[string]map[string]string) []string {
	const open, done = 1, 2
	state := map[string]int{}
	var way, found []string
	var visit func(f string) bool
	visit = func(f string) bool {
		switch state[f] {
		case done:
			return false
		case open:
			found = append(slices.Clone(way[slices.Index(way, f):]), f)
			return true
		}
		state[f] = open
		way = append(way, f)
		for _, to := range slices.Sorted(maps.Keys(uses[f])) {
			if visit(to) {
				return true
			}
		}
		way = way[:len(way)-1]
		state[f] = done
		return false
	}
	for _, f := range slices.Sorted(maps.Keys(uses)) {
		if visit(f) {
			return found
		}
	}
	return nil
}

func TestFilesGoDown(t *testing.T) {
	for _, dir := range layered {
		u, err := uses(filepath.Join("..", "..", dir))
		if err != nil {
			t.Fatal(err)
		}
		if len(u) < 5 {
			t.Errorf("%s: %d files use others", dir, len(u))
		}
		if c := circle(u); c != nil {
			s := c[0]
			for i := range c[1:] {
				s += fmt.Sprintf(" -(%s)-> %s", u[c[i]][c[i+1]], c[i+1])
			}
			t.Errorf("%s: files use each other in a circle: %s", dir, s)
		}
	}
}

func TestCircle(t *testing.T) {
	if c := circle(map[string]map[string]string{"a": {"b": "x", "c": "x"}, "b": {"c": "y"}}); c != nil {
		t.Error(c)
	}
	if c := circle(map[string]map[string]string{"a": {"b": "x"}, "b": {"c": "y"}, "c": {"b": "z"}}); !slices.Equal(c, []string{"b", "c", "b"}) {
		t.Error(c)
	}
}
