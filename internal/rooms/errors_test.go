package rooms

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	packageConst = regexp.MustCompile(`(?m)^const pkg fault\.Pkg = "(\w+)"$`)
	namedByHand  = regexp.MustCompile(`(?:fmt\.Errorf|errors\.New)\("(\w+): `)
	errorMethod  = regexp.MustCompile(`(?s)\nfunc \(\w+ (\*?\w+)\) Error\(\) string\s+\{(.*?)\}\n`)
	nameInFront  = regexp.MustCompile(`"(\w+): `)
)

// TestErrorsOfPackages: fault.Pkg puts the name of a package before an error, so that who prints can leave it out. An error of a
// type of its own tells the name by a method.
func TestErrorsOfPackages(t *testing.T) {
	files, names := map[string]string{}, map[string]bool{}
	texts(t, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, ".ci/") {
			return
		}
		files[name] = text
		if m := packageConst.FindStringSubmatch(text); m != nil {
			names[m[1]] = true
		}
	}, ".go")
	if len(names) < 20 {
		t.Fatalf("%d packages have a const pkg", len(names))
	}
	for name, text := range files {
		for _, x := range namedByHand.FindAllStringSubmatch(text, -1) {
			if names[x[1]] {
				t.Errorf("%s: %s...: want pkg.Errorf, with a const pkg fault.Pkg", name, x[0])
			}
		}
		for _, x := range errorMethod.FindAllStringSubmatch(text, -1) {
			n := nameInFront.FindStringSubmatch(x[2])
			if n != nil && names[n[1]] && !strings.Contains(text, " "+x[1]+") Package() string") {
				t.Errorf("%s: %s names package %s, and has no method Package in %s", name, x[1], n[1], path.Base(name))
			}
		}
	}
}
