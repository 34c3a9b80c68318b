package scrtools_test

import (
	"os"
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/scr/redset"
)

// SCR 3 writes caches without checksums. If all nodes are named, check must find a flipped byte by comparing data
// with their redundancy.
func TestScrCheckCompares(t *testing.T) {
	for _, scheme := range []redset.Scheme{redset.Partner, redset.XOR, redset.RS} {
		control, dir := protectedCache(t, scheme)
		sums := clitest.Glob(t, filepath.Join(dir, ".scr", "*.redsum"))
		if len(sums) != 4 {
			t.Fatal(sums)
		}
		for _, name := range sums {
			clitest.Check(t, os.Remove(name))
		}
		clitest.Shows(t, "redundancy: agrees with the files", "scr", "check", "--notes", "--control", control)
		clitest.FlipByte(t, filepath.Join(dir, "rank_2"), 5)
		if scheme == redset.RS { // two to spare
			finds(t, []string{"--control", control}, "rank_2: differs from the other files")
		} else {
			finds(t, []string{"--control", control}, "redundancy: ", "silent corruption at one of ranks")
		}
		clitest.Good(t, "scr", "check", "--quick", "--control", control)
	}
}
