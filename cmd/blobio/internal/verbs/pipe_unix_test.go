//go:build unix

package verbs_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestPipes checks that a pipe without a writer does not block a verb.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	pipe, out := filepath.Join(dir, "pipe"), filepath.Join(dir, "out")
	clitest.Check(t, syscall.Mkfifo(pipe, 0o666))
	const refused = "found a pipe or a socket, want a file"
	for _, c := range []struct {
		words string
		args  []string
	}{
		{refused, []string{"ff", "ls", pipe}}, {refused, []string{"ff", "dump", pipe}}, {refused, []string{"ff", "check", pipe}},
		{refused, []string{"ff", "diff", pipe, pipe}}, {refused, []string{"ff", "convert", pipe, out}}, {refused, []string{"ff", "repair", pipe, out}},
		{refused, []string{"scr", "print", pipe}}, {refused, []string{"scr", "transfer", "--status", pipe}},
		{refused, []string{"scr", "interval", "--log", pipe}}, {refused, []string{"scr", "params", "--user-file", pipe}},
		{"EOF", []string{"cost", "--model", pipe}}, {"unexpected end", []string{"bench", "show", pipe}},
		{"not a regular file", []string{"ls", pipe}}, {"not a regular file", []string{"decomp", "info", pipe}},
	} {
		clitest.Bad(t, cli.Failed, c.words, c.args...)
	}
	if got := clitest.Names(t, dir); got != "pipe" {
		t.Errorf("left: %s", got)
	}
}
