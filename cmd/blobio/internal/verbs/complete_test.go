package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

// TestCompletePaths checks that all files of a dataset complete to one path, that a link to a directory counts as a directory,
// and that other files stay separate.
func TestCompletePaths(t *testing.T) {
	dir, _, _, _ := clitest.Toys(t)
	clitest.Check(t, os.Symlink(filepath.Join(dir, "v"), filepath.Join(dir, "link")))
	clitest.Check(t, os.WriteFile(filepath.Join(dir, ".hidden"), nil, 0o666))
	t.Chdir(dir)
	toy := strings.Fields(clitest.Names(t, "v"))[0]
	base := strings.TrimSuffix(toy, ".0000")
	for _, c := range []struct{ want, typed string }{
		{"link/ p/ toy.nc v/", ""},
		{".hidden", ".h"},
		{"toy.nc", "t"},
		{"v/" + base, "v/"},
		{"link/" + base, "link/"},
		{"v/" + base + ".0000 v/" + base + ".0001 v/" + base + ".manifest", "v/" + base + "."},
		{"", "none/"},
	} {
		for _, verb := range [][]string{{"ls"}, {"check"}, {"convert"}, {"diff"}, {"amr", "ls"}, {"plot", "T"}} {
			r := clitest.Blobio(t, append(append([]string{"__complete"}, verb...), c.typed)...)
			got, _, _ := strings.Cut(r.Out, ":")
			if got := strings.Join(strings.Fields(got), " "); r.Code != 0 || got != c.want {
				t.Errorf("%s %q: %q, want %q", verb, c.typed, got, c.want)
			}
		}
	}
	if r := clitest.Blobio(t, "__complete", "cost", ""); r.Out != ":4\n" {
		t.Errorf("cost, which has no arguments: %q", r.Out)
	}
}

func TestCompleteRecords(t *testing.T) {
	_, _, variable, _ := clitest.Toys(t)
	for typed, want := range map[string]string{"": "0 1 2", "1": "1", "1:": "1:2 1:3", ":": ":1 :2 :3", "2:3": "2:3", "9:": "", "x:": ""} {
		for _, args := range [][]string{{"dump", variable, "--records"}, {"convert", variable, "out.nc", "--records"}, {"plot", "T", variable, "--records"}} {
			r := clitest.Blobio(t, append(append([]string{"__complete"}, args...), typed)...)
			at := strings.LastIndex(r.Out, "\n:") // the directive
			if got := strings.Join(strings.Fields(r.Out[:max(at, 0)]), " "); r.Code != 0 || got != want {
				t.Errorf("%q of %s: %q, want %q", typed, args[0], got, want)
			}
		}
	}
}
