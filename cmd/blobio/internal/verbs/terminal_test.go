package verbs_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cli"
)

// TestNamesOnTerminals checks that names and contents of files stay on their lines and cannot control the terminal.
func TestNamesOnTerminals(t *testing.T) {
	dir, canon, _, _ := clitest.Toys(t)
	b := clitest.Read(t, canon)
	sub := filepath.Join(dir, "odd")
	clitest.Check(t, os.Mkdir(sub, 0o777))
	for _, name := range []string{"esc\x1b[31m.nc", "new\nline.nc", "bad\xff.nc", "größe 日本.nc"} {
		at := filepath.Join(sub, name)
		clitest.Check(t, os.WriteFile(at, b, 0o666))
		for _, args := range [][]string{{"ls"}, {"check"}, {"dump", "--layout"}, {"dump", "-h"}} {
			out := clitest.Good(t, append(args, at)...)
			if strings.Contains(out, "\x1b") || strings.Contains(out, "\xff") || strings.Contains(out, "new\nline") {
				t.Errorf("%v of %q prints %q", args, name, out)
			}
		}
		r := clitest.Blobio(t, "ls", at+"x")
		if strings.Contains(r.Err, "\x1b") || strings.Contains(r.Err, "\xff") || strings.Count(r.Err, "\n") != 1 || r.Code != cli.Failed {
			t.Errorf("error of %q: %q", name, r.Err)
		}
	}
	out := clitest.Good(t, "ls", sub)
	clitest.Holds(t, out, `esc\x1b[31m.nc `, `new\nline.nc `, `bad\xff.nc `, "größe 日本.nc ")
	if n := strings.Count(out, "\n"); n != 5 {
		t.Errorf("%d lines, want 5:\n%s", n, out)
	}
}

// full is a standard output without space.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: errNoRoom}
}

var errNoRoom = func() error {
	_, err := os.Open("/dev/null/x")
	return errors.Unwrap(err)
}()

func TestStandardOutputFails(t *testing.T) {
	_, canon, _, _ := clitest.Toys(t)
	for _, args := range [][]string{{"ls", canon}, {"ls", "--json", canon}, {"dump", canon}} {
		var errs bytes.Buffer
		code := verbs.Run(context.Background(), &cli.Env{Stdout: full{}, Stderr: &errs, Args: args})
		if code != cli.Failed || !strings.HasPrefix(errs.String(), "blobio: standard output: write ") || strings.Contains(errs.String(), "final name") {
			t.Errorf("%v: exit code %d, %s", args, code, errs.String())
		}
	}
}

// TestWrongNumbers checks that errors for invalid numbers name their flags.
func TestWrongNumbers(t *testing.T) {
	dir, canon, variable, _ := clitest.Toys(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "decomp", "gen", "F", at("f.nc"), "--ne", "1", "--lev", "2", "--ranks", "2")
	for _, c := range []struct {
		words string
		args  []string
	}{
		{"--ranks 1000000000, want at most 16777216", []string{"replay", "--ranks", "1000000000"}},
		{"--ranks 1000000000, want at most 16777216", []string{"replay", "--map", at("f.nc"), "--ranks", "1000000000"}},
		{"--ranks 1000000000, want at most", []string{"decomp", "gen", "G", at("x.nc"), "--ranks", "1000000000"}},
		{"--ranks 1000000000, want at most", []string{"decomp", "info", at("f.nc"), "--ranks", "1000000000"}},
		{"--ranks 1000000000, want at most", []string{"decomp", "convert", at("f.nc"), at("x.nc"), "--ranks", "1000000000"}},
		{"--ranks 1000000000, want at most", []string{"decomp", "plot", at("f.nc"), "-o", at("x.png"), "--ranks", "1000000000"}},
		{"--ranks 99999999, want at most", []string{"convert", "--to", "process-centric", "--ranks", "99999999", canon, at("x.h5")}},
		{"--ranks 99999999, want at most", []string{"amr", "plot", at("x"), "-o", at("x.png"), "--by", "owner", "--ranks", "99999999"}},
		{`"-1" for "--workers" flag: want a positive number`, []string{"convert", "--workers", "-1", canon, at("x.nc")}},
		{`"-1" for "--workers" flag: want a positive number`, []string{"check", "--workers", "-1", canon}},
		{"--memory 1, want at least 8.00 MiB", []string{"convert", "--memory", "1", canon, at("x.nc")}},
		{"--memory 1, want at least 1.00 MiB", []string{"dump", "--memory", "1", canon}},
		{`--records "-5", want FIRST:END`, []string{"dump", "--layout", "--records", "-5", variable}},
		{"--blob must be 0 or more", []string{"dump", "--raw", "-v", "T", "--blob", "-3", variable}},
		{"cannot be combined", []string{"diff", "-q", "--json", canon, variable}},
		{"cannot be combined", []string{"ff", "diff", "-q", "--json", canon, variable}},
		{"cannot be combined", []string{"versions", "diff", "-q", "--json", dir}},
	} {
		clitest.Bad(t, cli.Failed, c.words, c.args...)
	}
	if got := clitest.Names(t, dir); strings.Contains(got, "x") {
		t.Errorf("written all the same: %s", got)
	}
}

// TestOutputsThatNobodyCouldOpen checks that an output name is refused if readers would take it for another file, or if no manifest
// can hold it.
func TestOutputsThatNobodyCouldOpen(t *testing.T) {
	dir, canon, _, _ := clitest.Toys(t)
	before := clitest.Names(t, dir)
	for _, name := range []string{"x.manifest", "a.0001", "a.nc.manifest.next"} {
		clitest.Bad(t, cli.Failed, "has the name of a file of the dataset", "convert", canon, filepath.Join(dir, name))
	}
	clitest.Bad(t, cli.Failed, "is not valid UTF-8", "convert", "--to", "process-centric", "--ranks", "2", canon, filepath.Join(dir, "bad\xff.h5"))
	if after := clitest.Names(t, dir); after != before {
		t.Errorf("written: %s", after)
	}
	clitest.Good(t, "convert", "--no-sync", canon, filepath.Join(dir, "bad\xff.nc"))
}
