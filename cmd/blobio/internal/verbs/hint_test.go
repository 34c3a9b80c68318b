package verbs_test

import (
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cli"
)

// A flag that was given already is no advice.
func TestHintOfForceOnce(t *testing.T) {
	_, canon, variable, _ := clitest.Toys(t)
	if r := clitest.Blobio(t, "convert", canon, variable); r.Code != cli.Failed || !strings.Contains(r.Err, "--force replaces it") {
		t.Errorf("without --force: %d, %q", r.Code, r.Err)
	}
	if r := clitest.Blobio(t, "convert", "--force", canon, variable); r.Code != cli.Failed || strings.Contains(r.Err, "--force") {
		t.Errorf("with --force: %d, %q", r.Code, r.Err)
	}
}

// What the examples of dump and convert do with the F case can be done with it.
func TestExamplesNameVariablesOfTheCase(t *testing.T) {
	dir := t.TempDir()
	clitest.Good(t, "replay", "--case", "F_h1", "--ne", "2", "--ranks", "4", "--layout", "variable", "--no-sync", "--verify=false", "--convert=false", "--out", dir)
	e := &cli.Env{}
	tried := 0
	for _, cmd := range verbs.NewRoot(e).Commands() {
		for _, line := range strings.Split(cmd.Example, "\n") {
			words := strings.Fields(line)
			for i, w := range words {
				if (w == "-v" || w == "--vars") && strings.Contains(line, " F_h1.nc") {
					clitest.Good(t, "dump", "-v", words[i+1], dir+"/F_h1.nc")
					tried++
				}
			}
		}
	}
	if tried < 4 {
		t.Errorf("only %d examples found", tried)
	}
}
