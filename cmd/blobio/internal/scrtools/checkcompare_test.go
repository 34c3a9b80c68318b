package scrtools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/scr/redset"
)

// Caches without checksums, as SCR 3 writes them: a flipped byte is found by the redundancy, with all nodes named.
func TestScrCheckCompares(t *testing.T) {
	for _, scheme := range []redset.Scheme{redset.Partner, redset.XOR, redset.RS} {
		control, dir := protectedCache(t, scheme)
		sums, err := filepath.Glob(filepath.Join(dir, ".scr", "*.redsum"))
		clitest.Check(t, err)
		if len(sums) != 4 {
			t.Fatal(sums)
		}
		for _, name := range sums {
			clitest.Check(t, os.Remove(name))
		}
		if out := clitest.Good(t, "scr", "check", "--notes", "--control", control); !strings.Contains(out, "redundancy: agrees with the files") {
			t.Errorf("%v: %s", scheme, out)
		}
		clitest.FlipByte(t, filepath.Join(dir, "rank_2"), 5)
		if scheme == redset.RS { // two to spare
			finds(t, []string{"--control", control}, "rank_2: not what the other files")
		} else {
			finds(t, []string{"--control", control}, "redundancy: ", "silent corruption at one of ranks")
		}
		clitest.Good(t, "scr", "check", "--quick", "--control", control)
	}
}
