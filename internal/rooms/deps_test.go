package rooms

import (
	"blobio/internal/base/testfiles"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModulesOfAUser: the table of docs/dependencies.md says of each public package which modules a program gets that imports it.
func TestModulesOfAUser(t *testing.T) {
	testfiles.Ask(t, "LONG") // go list for each package
	module := strings.TrimSuffix(everything, "/...")
	b, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(b), "## What a program gets\n")
	if !ok {
		t.Fatal("docs/dependencies.md has no table of what a program gets")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	said := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		if len(cells) != 2 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for p := range strings.SplitSeq(cells[0], ",") {
			said[strings.Trim(p, " `")] = strings.TrimSpace(cells[1])
		}
	}
	out, err := exec.Command("go", "list", "-f", "{{if ne .Name \"main\"}}{{.ImportPath}}{{end}}", everything).Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		dir := strings.TrimPrefix(pkg, module+"/")
		if dir == "comm/mpi" || dir == "python" || slices.Contains(strings.Split(dir, "/"), "internal") { // the first for cgo and a tag, the second has tests only
			continue
		}
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{end}}", pkg)
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		modules := strings.Fields(string(out))
		slices.Sort(modules)
		modules = slices.DeleteFunc(slices.Compact(modules), func(s string) bool { return s == module })
		want := strings.Join(modules, ", ")
		if want == "" {
			want = "none"
		}
		if got, ok := said[dir]; !ok || got != want {
			t.Errorf("docs/dependencies.md says of %s %q, want %q", dir, got, want)
		}
		delete(said, dir)
	}
	for dir := range said {
		t.Errorf("docs/dependencies.md names %s, which is no public package", dir)
	}
}
