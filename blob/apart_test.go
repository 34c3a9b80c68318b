package blob

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// groups of the files of this package, the lowest first. A file uses files of its own group and of lower ones; reading and writing do not
// use each other.
var groups = []struct{ name, files string }{
	{"base", "attsof bytes compare compress decode doc errors finding header layout options prints schema schemaatt schemamore share strays"},
	{"read", "canonical canonicalblocks canonicalcache canonicalcost canonicalpool exact extent extents further inspect joint jointcode jointmap jointopen jointowners jointread jointset jointview lead maps open part plausible read reader refresh requests runs selection set spans status stored subset table target verify viewed watched where window"},
	{"write", "addset again assemble async attset commit create describe done engine exchange flush grow heldback lone lonecopy loneimage lonemessage packchoice packjob packseal packwrite plan process put queue roomless seal sealed session setup tails team teamkeys tenure way worker writer"},
	{"top", "adopt append assign bulk check checkfile checklone checkmaps checkspare convert convertblobs convertfile convertmerge convertnc4 convertunit diff diffnumbers everput packcheck rebuild recover"},
}

// TestGroups compiles the package alone, as far as that goes without what it imports.
func TestGroups(t *testing.T) {
	names := need(filepath.Glob("*.go"))
	group := map[string]int{}
	for g := range groups {
		for f := range strings.FieldsSeq(groups[g].files) {
			group[f+".go"] = g
		}
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if _, ok := group[name]; !ok {
			t.Errorf("%s is in no group", name)
		}
		f := need(parser.ParseFile(fset, name, nil, parser.SkipObjectResolution))
		files = append(files, f)
	}
	if len(files) != len(group) {
		t.Errorf("%d files in groups, %d here", len(group), len(files))
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := conf.Check("blob", fset, files, &info)
	fileOf := func(p token.Pos) string { return fset.Position(p).Filename }
	const read, write = 1, 2
	arrows := 0
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !o.Pos().IsValid() {
			continue
		}
		from, to := group[fileOf(id.Pos())], group[fileOf(o.Pos())]
		if from != to {
			arrows++
		}
		if to > from || from == write && to == read {
			t.Errorf("%v: %s uses %s, which is of %s", fset.Position(id.Pos()), groups[from].name, id.Name, groups[to].name)
		}
	}
	if arrows < 1000 {
		t.Errorf("%d uses between groups: the test sees too little", arrows)
	}
}

// nothing stands for every package that is imported.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
	p.MarkComplete()
	return p, nil
}
