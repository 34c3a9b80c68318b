package mesh_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
	"blobio/internal/crashtest"
)

// TestCelloManifestBits: a changed bit of the manifest of a checkpoint, of which there is one, is an error by its name for whoever reads the
// checkpoint; with --no-verify the data are there as the original reads them, and convert makes a whole copy.
func TestCelloManifestBits(t *testing.T) {
	dir := t.TempDir()
	ck, out := filepath.Join(dir, "Check"), filepath.Join(dir, "out")
	clitest.Good(t, "amr", "gen", "uniform", "--no-sync", "--roots", "2", "--cells", "4", "--levels", "0", "--fields", "1", "--particles", "0", "--files", "1", ck)
	manifest := filepath.Join(ck, "blobio.manifest")
	b, err := os.ReadFile(manifest)
	clitest.Check(t, err)
	last := strings.LastIndex(strings.TrimSpace(string(b)), "\n") // the line with the sum
	n := 0
	for n < 8*len(b) {
		b[n/8] ^= 1 << (n % 8)
		clitest.Check(t, os.WriteFile(manifest, b, 0o666))
		for _, v := range [][]string{{"amr", "ls", ck}, {"amr", "check", ck}, {"check", ck}, {"ls", ck}, {"amr", "convert", "--no-sync", ck, out}} {
			if r := clitest.Blobio(t, v...); r.Code == cli.Good || !strings.Contains(r.Out+r.Err, "blobio.manifest") {
				t.Errorf("bit %d, %v: %+v", n, v, r)
			}
		}
		b[n/8] ^= 1 << (n % 8)
		if n < 8*last {
			n += crashtest.Times(301, 1)
		} else {
			n += crashtest.Times(11, 1)
		}
	}
	b[len(b)/2] ^= 1
	clitest.Check(t, os.WriteFile(manifest, b, 0o666))
	clitest.Good(t, "amr", "ls", "--no-verify", ck)
	if r := clitest.Blobio(t, "amr", "convert", "--no-sync", "--no-verify", "--to", "cello", ck, out); r.Code != cli.Good || !strings.Contains(r.Err, "not compared with its checksums") {
		t.Errorf("%+v", r)
	}
	clitest.Good(t, "amr", "check", out)
}
