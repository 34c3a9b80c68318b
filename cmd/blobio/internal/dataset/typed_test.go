package dataset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cdf5/cdftest"
	"blobio/internal/cli"
)

// TestTypedNames checks that a name in any Unicode form selects its variable.
func TestTypedNames(t *testing.T) {
	const composed, decomposed = "\u00e9T", "e\u0301T"
	dir := t.TempDir()
	file := func(name string, values ...float32) string {
		h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "x", Len: 3}}, Vars: []cdf5.Var{{Name: composed, Type: cdf5.Float, Dims: []int{0}}}}
		path := filepath.Join(dir, name)
		clitest.Check(t, os.WriteFile(path, cdftest.Build(t, h, false, values), 0o666))
		return path
	}
	a, b := file("a.nc", 1, 2, 3), file("b.nc", 7, 8, 9)
	for _, form := range []string{composed, decomposed} {
		clitest.Bad(t, cli.Findings, "1 difference", "diff", "-v", form, a, b)
		for _, args := range [][]string{{"dump", "-v", form, a}, {"ls", "--stats", "-v", form, a}} {
			if out := clitest.Good(t, args...); !strings.Contains(out, "3") || strings.Count(out, composed) == 0 {
				t.Errorf("%q:\n%s", args, out)
			}
		}
		out := filepath.Join(dir, "out.nc")
		clitest.Good(t, "convert", "--force", "--no-sync", "-C", "-v", form, a, out)
		clitest.Good(t, "diff", a, out)
	}
}

// TestWriteThroughRepeats checks that writing uses a map with each index once.
func TestWriteThroughRepeats(t *testing.T) {
	dir, canon, _, _ := clitest.Toys(t)
	path := filepath.Join(dir, "twice.dat")
	clitest.Check(t, os.WriteFile(path, []byte("version 2001 npes 1 ndims 1\n4\n0 4\n1 2 2 4\n"), 0o666))
	clitest.Bad(t, cli.Failed, "must hold each index only once", "convert", "--to", "variable-centric", "--map", path, canon, filepath.Join(dir, "out.nc"))
}
