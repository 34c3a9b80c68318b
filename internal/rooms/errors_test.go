package rooms

import (
	"regexp"
	"strings"
	"testing"
)

var (
	packageLine = regexp.MustCompile(`(?m)^package (\w+)$`)
	namedByHand = regexp.MustCompile(`(?:fmt\.Errorf|errors\.New)\("(\w+): `)
)

// TestErrorsOfPackages: fault.Pkg puts the name of the package before an error, so that who prints can leave it out.
func TestErrorsOfPackages(t *testing.T) {
	texts(t, func(name, text string) {
		m := packageLine.FindStringSubmatch(text)
		if strings.HasSuffix(name, "_test.go") || m == nil || strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, ".ci/") {
			return
		}
		for _, x := range namedByHand.FindAllStringSubmatch(text, -1) {
			if x[1] == m[1] {
				t.Errorf("%s: %s...: want pkg.Errorf, with a const pkg fault.Pkg", name, x[0])
			}
		}
	}, ".go")
}
