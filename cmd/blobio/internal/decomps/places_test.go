package decomps_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/crashtest"
	"blobio/internal/cli"
)

// TestPlotPlaces checks that the picture of a map uses the coordinates of the dataset, if it has any.
func TestPlotPlaces(t *testing.T) {
	for _, c := range []struct{ pattern, where, want string }{{"smooth", "auto", "dataset"}, {"smooth", "index", "index"}, {"hash", "auto", "index"}} {
		dir := t.TempDir()
		args := []string{"replay", "--case", "F", "--history", "h1", "--ne", "2", "--lev", "3", "--ranks", "4", "--num-records", "1", "--layout", "process", "--no-sync", "-o", dir}
		if c.pattern == "smooth" {
			args = append(args, "--pattern", "smooth")
		}
		clitest.Good(t, args...)
		path, out := filepath.Join(dir, "F_h1.h5"), filepath.Join(dir, "d.png")
		for _, m := range crashtest.Some(t, 1, []string{"D2", "D3"}) {
			var said struct{ Positions string }
			clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "decomp", "plot", path, "--map", m, "--where", c.where, "--width", "300", "-o", out, "--force", "--json")), &said))
			if said.Positions != c.want {
				t.Errorf("%s, %s of %s values: positions by %s, want %s", c.where, m, c.pattern, said.Positions, c.want)
			}
		}
		if c.pattern != "smooth" {
			clitest.Bad(t, cli.Failed, "has no latitudes and longitudes", "decomp", "plot", path, "--where", "dataset", "-o", out, "--force")
		}
	}
}
