package fti_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/fti"
	"blobio/internal/base/testfiles"
)

// TestKnowsNoNetCDF: a file of another name is known by its metadata, but one that begins as netCDF or HDF5 is not searched for
// them, which takes a minute for 100 MB.
func TestKnowsNoNetCDF(t *testing.T) {
	list := clitest.Glob(t, filepath.Join(testfiles.Dir(t, "fti", "tiny", "v1.4", "l1"), "*.fti"))
	file := clitest.Read(t, list[0])
	path := filepath.Join(t.TempDir(), "other")
	for begin, want := range map[string]bool{"": true, "1234": true, "CDF\x05": false, "\x89HDF": false} {
		clitest.Check(t, os.WriteFile(path, slices.Concat([]byte(begin), file[len(begin):]), 0o666))
		if got := fti.Knows(path); got != want {
			t.Errorf("a checkpoint that begins with %q: %v", begin, got)
		}
	}
}
