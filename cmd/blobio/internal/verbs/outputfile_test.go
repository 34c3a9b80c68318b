package verbs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

// outputs returns command lines by the kind of their output, which is the last argument.
func outputs(t *testing.T) (dir string, lines map[string][]string) {
	dir, canon, _, _ := clitest.Toys(t)
	ck := filepath.Join(dir, "Ck")
	clitest.Good(t, "amr", "gen", "shock", "--no-sync", "--cells", "4", ck)
	maps := filepath.Join(dir, "maps.nc")
	clitest.Good(t, "decomp", "gen", "I", maps, "--lat", "8", "--lon", "12", "--ranks", "3")
	dat := filepath.Join(dir, "m.D1.dat")
	clitest.Good(t, "decomp", "convert", maps, filepath.Join(dir, "m.dat"))
	ff := clitest.FFStore(t) + "@5/1"
	return dir, map[string][]string{
		"out.nc":    {"decomp", "gen", "I", "--lat", "8", "--lon", "12", "--ranks", "3"},
		"out.dat":   {"decomp", "convert", dat},
		"out.svg":   {"decomp", "plot", maps, "-o"},
		"mesh.svg":  {"amr", "plot", ck, "-o"},
		"canon.nc":  {"convert", "--no-sync", canon},
		"blobs.nc":  {"convert", "--no-sync", "--to", "variable-centric", "--ranks", "2", canon},
		"amr.nc":    {"amr", "convert", "--no-sync", ck},
		"Check":     {"amr", "convert", "--no-sync", "--to", "cello", ck},
		"Yt":        {"amr", "convert", "--no-sync", "--to", "yt", ck},
		"ff.fti":    {"ff", "convert", "--layout", "A", ff},
		"small.fti": {"ff", "convert", "--compact", ff},
	}
}

// TestSecondWriter checks that a second writer of an output fails with the name of the first writer, and changes nothing.
// Remains of dead writers do not block a writer, and are removed.
func TestSecondWriter(t *testing.T) {
	dir, lines := outputs(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, l := range crashtest.SomeOf(t, 3, lines) {
		args := append(l, at(name))
		first, err := durable.NewOutput(t.Context(), vfs.OS, at(name), durable.OutputOptions{})
		clitest.Check(t, err)
		was := clitest.Names(t, dir)
		if r := clitest.Blobio(t, args...); r.Code != cli.Failed || !strings.Contains(r.Err, at(name)+": in use by") || !strings.Contains(r.Err, fmt.Sprintf("process %d, since", os.Getpid())) {
			t.Errorf("%v: exit code %d, %s", args, r.Code, r.Err)
		}
		if now := clitest.Names(t, dir); now != was {
			t.Errorf("%v: %s became %s", args, was, now)
		}
		first.Discard()
		clitest.Good(t, args...)
		if now := clitest.Names(t, dir); strings.Contains(now, "partial") || strings.Contains(now, ".lock") || !strings.Contains(now, name) {
			t.Errorf("%v: left: %s", args, now)
		}
		if clitest.Blobio(t, args...).Code != cli.Failed {
			t.Errorf("%v: a second time: no error", args)
		}
	}
}

// TestSeveralOutputs checks that none of several files appears while somebody writes one of them.
func TestSeveralOutputs(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "decomp", "gen", "I", at("maps.nc"), "--lat", "8", "--lon", "12", "--ranks", "3")
	last, err := durable.NewOutput(t.Context(), vfs.OS, at("m.D5.dat"), durable.OutputOptions{})
	clitest.Check(t, err)
	was := clitest.Names(t, dir)
	clitest.Bad(t, cli.Failed, at("m.D5.dat")+": in use by", "decomp", "convert", at("maps.nc"), at("m.dat"))
	if now := clitest.Names(t, dir); now != was {
		t.Errorf("%s became %s", was, now)
	}
	clitest.Check(t, last.Commit())
	clitest.Bad(t, cli.Failed, at("m.D5.dat")+" already exists", "decomp", "convert", at("maps.nc"), at("m.dat"))
	clitest.Good(t, "decomp", "convert", "--force", at("maps.nc"), at("m.dat"))
	if now := clitest.Names(t, dir); now != "m.D1.dat m.D2.dat m.D3.dat m.D4.dat m.D5.dat maps.nc" {
		t.Error(now)
	}
}

// TestDeadWriter checks that recover and the next writer find and remove hidden files of dead writers; ordinary files stay.
func TestDeadWriter(t *testing.T) {
	dir := t.TempDir()
	out, hidden := filepath.Join(dir, "maps.nc"), filepath.Join(dir, ".maps.nc.0123abcd.partial")
	gen := []string{"decomp", "gen", "I", "--lat", "8", "--lon", "12", "--ranks", "3", "--force", out}
	for _, there := range []bool{false, true} {
		clitest.Check(t, os.WriteFile(hidden, []byte("half"), 0o666))
		clitest.Bad(t, cli.Findings, hidden, "recover", "-n", dir)
		clitest.Good(t, "recover", dir)
		if want, got := map[bool]string{true: "maps.nc"}[there], clitest.Names(t, dir); got != want {
			t.Errorf("after recover: %q, want %q", got, want)
		}
		clitest.Check(t, os.WriteFile(hidden, []byte("half"), 0o666))
		clitest.Good(t, gen...)
		if got := clitest.Names(t, dir); got != "maps.nc" {
			t.Errorf("after the next writer: %q", got)
		}
	}
}

// TestUnsureHint checks that an error after the rename does not claim that there was no rename.
func TestUnsureHint(t *testing.T) {
	for _, renamed := range []bool{false, true} {
		err := &durable.UnsureError{Name: "x.nc", Renamed: renamed, Err: errors.Join(syscall.ENOSPC)}
		e := &cli.Env{}
		text := e.ErrorLine(verbs.NewRoot(e), err)
		if strings.Contains(text, "nothing was left") || !strings.Contains(text, "check whether the file") || !strings.Contains(text, "x.nc") {
			t.Error(text)
		}
	}
}
