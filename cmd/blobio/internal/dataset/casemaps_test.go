package dataset_test

import (
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

// TestConvertByCase checks conversion from canonical to blobs with the maps that blobio makes for the case.
func TestConvertByCase(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.nc")
	clitest.Good(t, "replay", "--case", "F", "--history", "h1", "--layout", "variable", "-o", dir, "--no-sync")
	clitest.Good(t, "convert", filepath.Join(dir, "F_h1.nc"), in, "--no-sync")
	out := filepath.Join(dir, "out.h5")
	clitest.Good(t, "convert", in, out, "--to", "process-centric", "--case", "F_h1", "--ranks", "5", "--no-sync")
	clitest.Shows(t, "equal", "diff", in, out)
	clitest.Holds(t, clitest.Good(t, "ls", out), "D3(lev=72, ncol=866)", "5 ranks")
}
