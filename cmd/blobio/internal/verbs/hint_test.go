package verbs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/base/crashtest"
	"blobio/internal/cli"
)

// A flag already given must not be suggested.
func TestHintOfForceOnce(t *testing.T) {
	_, canon, variable, _ := clitest.Toys(t)
	clitest.Bad(t, cli.Failed, "--force replaces the output", "convert", canon, variable)
	if r := clitest.Blobio(t, "convert", "--force", canon, variable); r.Code != cli.Failed || strings.Contains(r.Err, "--force") {
		t.Errorf("with --force: %d, %q", r.Code, r.Err)
	}
}

// TestExamples checks that the examples in the help of dataset verbs work, with files from replay.
func TestExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Good(t, "replay", "--ne", "2", "--ranks", "4", "--num-records", "10", "--pattern", "smooth", "--no-sync", "--no-verify", "--no-convert", "--output", "run")
	clitest.Good(t, "replay", "--case", "I_h0", "--pattern", "smooth", "--lat", "12", "--lon", "24", "--ranks", "4", "--layout", "variable", "--no-sync", "--no-verify", "--no-convert", "--output", ".")
	list, err := os.ReadDir("run")
	clitest.Check(t, err)
	for _, x := range list {
		clitest.Check(t, os.Link(filepath.Join("run", x.Name()), x.Name()))
	}
	for name, from := range map[string]string{"in.nc": "F_h1.nc", "a.nc": "F_h0.nc", "b.nc": "F_h0.nc", "other.nc": "F_h0.h5"} {
		clitest.Good(t, "convert", "--no-sync", from, name)
	}
	clitest.Good(t, "decomp", "gen", "F", "map_f_case_16p.nc", "--ne", "2", "--ranks", "16")
	absent := []string{"mesh.nc", "Ckpt7-Rank0.fti", "Check-10", "--exec"} // files that replay does not write, and a command of a shell
	var lines [][]string
	for _, cmd := range verbs.NewRoot(&cli.Env{}).Commands() {
		if !slices.Contains([]string{"ls", "check", "dump", "where", "diff", "plot", "recover", "convert"}, cmd.Name()) {
			continue
		}
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(line, "#")
			line, _, _ = strings.Cut(line, "|")
			line, _, _ = strings.Cut(line, "&&")
			var args []string
			for _, w := range strings.Fields(strings.ReplaceAll(line, "'", ""))[1:] {
				if found, err := filepath.Glob(w); err == nil && strings.Contains(w, "*") {
					args = append(args, found...)
				} else {
					args = append(args, w)
				}
			}
			if slices.ContainsFunc(absent, func(name string) bool { return slices.Contains(args, name) }) {
				continue
			}
			if cmd.Name() == "convert" || cmd.Name() == "plot" {
				args = append(args, "--force")
			}
			if cmd.Name() == "convert" {
				args = append(args, "--no-sync")
			}
			lines = append(lines, args)
		}
	}
	if len(lines) < 40 {
		t.Errorf("only %d examples found", len(lines))
	}
	for _, args := range crashtest.Some(t, 10, lines) {
		if r := clitest.Blobio(t, args...); r.Code != cli.Good {
			t.Errorf("blobio %s: %d\n%s", strings.Join(args, " "), r.Code, r.Err)
		}
	}
}
