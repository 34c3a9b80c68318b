package dataset_test

import (
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

// TestConvertByCase: from canonical to blobs with the maps that blobio makes for the case.
func TestConvertByCase(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.nc")
	clitest.Good(t, "replay", "--case", "F", "--history", "h1", "--layout", "variable", "-o", dir, "--no-sync")
	clitest.Good(t, "convert", filepath.Join(dir, "F_h1.nc"), in, "--no-sync")
	out := filepath.Join(dir, "out.h5")
	clitest.Good(t, "convert", in, out, "--to", "process-centric", "--case", "F_h1", "--ranks", "5", "--no-sync")
	if got := clitest.Good(t, "diff", in, out); !strings.Contains(got, "equal") {
		t.Errorf("diff says %q", got)
	}
	if got := clitest.Good(t, "ls", out); !strings.Contains(got, "D3(lev=72, ncol=866)") || !strings.Contains(got, "5 ranks") {
		t.Errorf("ls says %q", got)
	}
}
