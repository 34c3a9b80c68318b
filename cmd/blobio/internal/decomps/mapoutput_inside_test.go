package decomps

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"blobio/decomp/mapfile"
	"blobio/e3smcases"
	"blobio/internal/cli"
)

// Several maps as text need several files. Either all or none of these files must be written.
func TestMapsAsTextAllOrNone(t *testing.T) {
	maps, err := e3smcases.F{Ne: 2, Levels: 2, Ranks: 2}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	f, err := mapfile.FromMaps(maps...)
	if err != nil {
		t.Fatal(err)
	}
	f.Maps[2].Reqs = nil // cannot be written
	dir := t.TempDir()
	o := &mapOutput{format: "dat"}
	if err := o.write(t.Context(), &cli.Env{Out: bufio.NewWriter(&bytes.Buffer{})}, filepath.Join(dir, "m.dat"), f); err == nil {
		t.Error("a map without requests was written")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
