package main

import (
	"strings"
	"testing"
)

// A flag that was given already is no advice.
func TestHintOfForceOnce(t *testing.T) {
	_, canon, variable, _ := toys(t)
	if r := blobio(t, "convert", canon, variable); r.code != exitFailed || !strings.Contains(r.err, "--force replaces it") {
		t.Errorf("without --force: %d, %q", r.code, r.err)
	}
	if r := blobio(t, "convert", "--force", canon, variable); r.code != exitFailed || strings.Contains(r.err, "--force") {
		t.Errorf("with --force: %d, %q", r.code, r.err)
	}
}

// What the examples of dump and convert do with the F case can be done with it.
func TestExamplesNameVariablesOfTheCase(t *testing.T) {
	dir := t.TempDir()
	good(t, "replay", "--case", "F_h1", "--ne", "2", "--ranks", "4", "--layout", "variable", "--no-sync", "--verify=false", "--convert=false", "--out", dir)
	e := &env{}
	tried := 0
	for _, cmd := range newRoot(e).Commands() {
		for _, line := range strings.Split(cmd.Example, "\n") {
			words := strings.Fields(line)
			for i, w := range words {
				if (w == "-v" || w == "--vars") && strings.Contains(line, " F_h1.nc") {
					good(t, "dump", "-v", words[i+1], dir+"/F_h1.nc")
					tried++
				}
			}
		}
	}
	if tried < 4 {
		t.Errorf("only %d examples found", tried)
	}
}
