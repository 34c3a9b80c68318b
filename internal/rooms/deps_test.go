package rooms

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModulesOfAUser: the table of docs/dependencies.md says of each public package which modules a program gets that imports it.
func TestModulesOfAUser(t *testing.T) {
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
	for dir := range publicPackages(t) {
		if dir == "comm/mpi" { // for cgo and a tag
			continue
		}
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{end}}", path.Join(module, dir))
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Skipf("SKIPPED: go list: %v", err)
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
		t.Errorf("docs/dependencies.md tells of %s, which is no public package", dir)
	}
}
