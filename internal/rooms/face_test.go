package rooms

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// face is how many names each public package exports: functions, types, variables and constants, without methods and
// fields. It grows on purpose only: whatever only other packages of this module call belongs under internal.
var face = map[string]int{
	"amr":              59,
	"amr/cello":        54,
	"amr/cello/netcdf": 3,
	"bench":            3,
	"blob":             124,
	"cdf5":             49,
	"comm":             43,
	"comm/mpi":         9,
	"decomp":           19,
	"decomp/mapfile":   24,
	"e3smcases":        25,
	"ffformat":         86,
	"ffformat/ffstore": 36,
	"pio":              52,
	"recovery":         57,
	"scr":              24,
	"scr/check":        11,
	"scr/config":       34,
	"scr/kvtree":       40,
	"scr/redset":       38,
	"serve":            3,
	"sfc":              13,
	"subfile":          52,
	"versioned":        91,
	"versioned/levels": 3,
	"versioned/rerun":  12,
	"vfs":              12,
}

type declared struct {
	name string // of a method Type.Method
	decl ast.Node
}

// exported are the names that files of a package declare for others, methods included, each once.
func exported(files []*ast.File) []declared {
	seen := map[string]bool{} // files for other systems declare the same
	var out []declared
	add := func(name string, decl ast.Node) {
		if !seen[name] {
			seen[name] = true
			out = append(out, declared{name, decl})
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if !x.Name.IsExported() {
					continue
				}
				if x.Recv == nil {
					add(x.Name.Name, x)
				} else if recv := receiver(x.Recv.List[0].Type); ast.IsExported(recv) {
					add(recv+"."+x.Name.Name, x)
				}
			case *ast.GenDecl:
				for _, s := range x.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							add(s.Name.Name, s)
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.IsExported() {
								add(n.Name, s)
							}
						}
					}
				}
			}
		}
	}
	return out
}

// receiver is the name of the type of a receiver.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func TestFace(t *testing.T) {
	packages := publicPackages(t)
	total := 0
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		n := 0
		for _, d := range exported(packages[dir]) {
			if f, ok := d.decl.(*ast.FuncDecl); !ok || f.Recv == nil {
				n++
			}
		}
		total += n
		if want, ok := face[dir]; !ok || n != want {
			t.Errorf("%s exports %d names, the table has %d", dir, n, want)
		}
	}
	for dir := range face {
		if packages[dir] == nil {
			t.Errorf("the table has %s, which is no public package", dir)
		}
	}
	t.Logf("%d names in %d packages", total, len(packages))
}

// TestOptionsAreTheUsers: options have no fields that only the package and its tests can set.
func TestOptionsAreTheUsers(t *testing.T) {
	seen := 0
	for dir, files := range publicPackages(t) {
		for _, d := range exported(files) {
			spec, ok := d.decl.(*ast.TypeSpec)
			if !ok || d.name != "Config" && !strings.HasSuffix(d.name, "Options") {
				continue
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			seen++
			for _, f := range s.Fields.List {
				for _, n := range f.Names {
					if !n.IsExported() {
						t.Errorf("%s: %s.%s: what only tests set belongs to the function behind the public one", dir, d.name, n.Name)
					}
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d structs of options", seen)
	}
}
