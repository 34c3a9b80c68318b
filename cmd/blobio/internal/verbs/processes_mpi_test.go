//go:build mpi && cgo && linux

package verbs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cli"
	"blobio/internal/comm/mpitest"
)

// TestMain lets the test program act as blobio, as started by mpirun.
func TestMain(m *testing.M) {
	if os.Getenv("BLOBIO_TEST_MAIN") != "" {
		verbs.Main()
	}
	os.Exit(m.Run())
}

// underMPI runs a command line in several processes of this test program.
func underMPI(t *testing.T, ranks int, args ...string) (string, int) {
	t.Helper()
	exe, err := os.Executable()
	clitest.Check(t, err)
	out, err := mpitest.Run(t, ranks, 5*time.Minute, []string{"BLOBIO_TEST_MAIN=1"}, exe, args...)
	var exit *exec.ExitError
	switch {
	case errors.Is(err, mpitest.ErrHung):
		t.Fatalf("%d processes of blobio %s: %v\n%s", ranks, strings.Join(args, " "), err, out)
	case errors.As(err, &exit):
		return out, exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return out, 0
}

// sameDirs compares the files of two directories, except for the IDs of manifests.
func sameDirs(t *testing.T, got, want string) {
	t.Helper()
	list := func(dir string) (names []string) {
		es, err := os.ReadDir(dir)
		clitest.Check(t, err)
		for _, e := range es {
			names = append(names, e.Name())
		}
		return names
	}
	id := regexp.MustCompile(`"id": *"[0-9a-f]+"|"crc[0-9a-z]*": *"[0-9a-f]+"`)
	g, w := list(got), list(want)
	if fmt.Sprint(g) != fmt.Sprint(w) || len(g) == 0 {
		t.Fatalf("files %v, want %v", g, w)
	}
	for _, name := range w {
		a := clitest.Read(t, filepath.Join(got, name))
		b := clitest.Read(t, filepath.Join(want, name))
		if strings.HasSuffix(name, ".manifest") {
			a, b = id.ReplaceAll(a, nil), id.ReplaceAll(b, nil)
			if len(a) != len(b) { // the checksum at the end differs
				t.Errorf("%s differs:\n%s\n%s", name, a, b)
			}
			continue
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs: %d bytes, want %d", name, len(a), len(b))
		}
	}
}

func TestReplayUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	for _, c := range []struct {
		ranks int
		args  []string
	}{
		{1, nil},
		{4, []string{"--num-records", "3"}},
		{4, []string{"--case", "G", "--nodes", "2", "--num-records", "2", "--flush", "-1"}},
		{3, []string{"--case", "I", "--subfiles", "2", "--grouping", "roundrobin"}},
		{7, []string{"--case", "F_h1", "--ranks-per-node", "3", "--float", "--pattern", "reference"}},
	} {
		t.Run(fmt.Sprint(c.ranks, c.args), func(t *testing.T) {
			one, many := t.TempDir(), t.TempDir()
			args := append([]string{"replay", "--no-sync"}, c.args...)
			want := clitest.Good(t, append(args, "-o", one, "--ranks", fmt.Sprint(c.ranks))...)
			got, code := underMPI(t, c.ranks, append(args, "-o", many)...)
			if code != cli.Good || strings.Count(got, "elements: all correct") != 1 {
				t.Fatalf("exit code %d\n%s", code, got)
			}
			sameDirs(t, many, one)
			verified := regexp.MustCompile(`all \d+ elements`)
			if verified.FindString(got) != verified.FindString(want) {
				t.Errorf("%q, want %q", verified.FindString(got), verified.FindString(want))
			}
		})
	}
}

func TestConvertUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	src := t.TempDir()
	clitest.Good(t, "replay", "--no-sync", "--case", "F_h1", "--num-records", "3", "--ranks", "5", "-o", src)
	for _, in := range []string{"F_h1.nc", "F_h1.h5"} {
		for _, args := range [][]string{
			{"out"},
			{"out", "--format", "cdf2", "--records", "1:3"},
			{"out", "--to", "variable-centric", "--ranks", "6", "--subfiles", "2"},
			{"out", "--to", "process-centric", "--case", "F_h1", "--ranks", "3"},
		} {
			t.Run(in+fmt.Sprint(args[1:]), func(t *testing.T) {
				one, many := t.TempDir(), t.TempDir()
				line := func(dir string) []string {
					l := append([]string{"convert", "--no-sync", filepath.Join(src, in)}, args...)
					l[3] = filepath.Join(dir, l[3])
					return l
				}
				clitest.Good(t, line(one)...)
				if got, code := underMPI(t, 4, line(many)...); code != cli.Good || strings.Count(got, "MiB/s") != 1 {
					t.Fatalf("exit code %d\n%s", code, got)
				}
				sameDirs(t, many, one)
			})
		}
	}
}

// TestErrorsUnderMPI checks that the first process prints one line for an error on any process, and that all processes have the
// same exit code.
func TestErrorsUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	dir := t.TempDir()
	clitest.Good(t, "replay", "--no-sync", "--case", "F_h1", "--ranks", "2", "-o", dir)
	clitest.Good(t, "replay", "--no-sync", "--case", "F_h1", "--ranks", "2", "--pattern", "smooth", "-o", filepath.Join(dir, "smooth"))
	other := filepath.Join(dir, "smooth", "F_h1.nc")
	set := filepath.Join(dir, "F_h1.nc")
	for _, c := range []struct {
		code  int
		words string
		args  []string
	}{
		{cli.Failed, "already exists", []string{"convert", set, set + ".0000"}},
		{cli.Failed, "unknown flag", []string{"replay", "--nothing"}},
		{cli.Failed, "the number of processes is 3", []string{"replay", "--ranks", "16"}},
		{cli.Failed, "roundrobin", []string{"replay", "--placement", "roundrobin"}},
		{cli.Failed, ": no directory ", []string{"convert", set, filepath.Join(dir, "nowhere", "x.nc")}},
		{cli.Failed, "already exists", []string{"replay", "--case", "F_h1", "-o", dir}},
		{cli.Failed, "", []string{"check", filepath.Join(dir, "nothing.nc")}},
		{cli.Findings, "differ", []string{"diff", set, other}},
		{cli.Good, "good", []string{"check", set}},
		{cli.Good, "F_h1", []string{"ls", dir}},
	} {
		out, code := underMPI(t, 3, c.args...)
		said := 0
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, "blobio: ") || c.code != cli.Failed && strings.Contains(l, c.words) {
				said++
			}
		}
		if code != c.code || !strings.Contains(out, c.words) || said < 1 || c.code == cli.Failed && said != 1 {
			t.Errorf("blobio %s: exit code %d, %d lines, want %d and one with %q\n%s", strings.Join(c.args, " "), code, said, c.code, c.words, out)
		}
	}
}

// TestSweepUnderMPI checks that the first processes run the points, and that an error of one process is an error of the run.
func TestSweepUnderMPI(t *testing.T) {
	mpitest.Launcher(t)
	dir := t.TempDir()
	args := func(more ...string) []string {
		return append([]string{"bench", "sweep", "--elements", "20", "--variables", "2", "--repeats", "2", "--durability", "none", "--dir", dir, "-o", filepath.Join(dir, "s")}, more...)
	}
	out, code := underMPI(t, 4, args("--ranks", "1,3,4", "--layout", "variable,process", "--subfiles", "1,1/node", "--read", "cold", "--limit", "0.000001")...)
	if code != cli.Good || !strings.Contains(out, "0 of 24 runs") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	out, code = underMPI(t, 4, args("--ranks", "1,3,4", "--layout", "variable,process", "--subfiles", "1,1/node", "--read", "cold")...)
	if code != cli.Good || strings.Count(out, "24 of 24 runs") != 1 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	out, code = underMPI(t, 3, args("--anew", "--read", "cold,warm", "--drop", "false", "--ranks-per-node", "0,2")...)
	if code != cli.Findings || !strings.Contains(out, "8 of 8 runs") || !strings.Contains(out, "exit status 1") || !strings.Contains(out, "3 ranks, but only 2 processes") || strings.Count(out, "failed: ") != 3 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	left, err := filepath.Glob(filepath.Join(dir, "blobio-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
