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

// TestKnowsNoNetCDF checks that a file with any name is recognized by its metadata. A file that begins like netCDF or HDF5 is not
// searched, because the search would take a minute for 100 MB.
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
