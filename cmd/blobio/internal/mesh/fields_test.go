package mesh_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

// TestFieldVerbs checks that verbs about values give the same results for one mesh in any order.
func TestFieldVerbs(t *testing.T) {
	_, check, _ := clitest.Mesh(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	other := at("other")
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "cello", "--order", "hilbert", "--files", "2", check, other)
	var first string
	for _, path := range []string{check, other} {
		var out struct {
			Meshes []struct {
				Fields []struct {
					Name             string
					Cells            int64
					Total, Mean, Min float64
					MinAt            struct{ Level int } `json:"min_at"`
				}
			}
		}
		if err := json.Unmarshal([]byte(clitest.Good(t, "amr", "ls", "--stats", "--json", path)), &out); err != nil {
			t.Fatal(err)
		}
		f := out.Meshes[0].Fields
		if len(f) != 4 || f[0].Cells != 1408 || f[0].Mean < 1 || f[0].Min < 1 {
			t.Fatalf("%s: %+v", path, f)
		}
		b, _ := json.Marshal(f[0].Min)
		if first == "" {
			first = string(b)
		} else if first != string(b) {
			t.Errorf("%s: least %s, want %s", path, b, first)
		}
		clitest.Shows(t, "are equal", "amr", "diff", check, path)
	}
	clitest.Shows(t, "16 × 8 cells of level 1", "amr", "extract", "--field", "density", "--level", "1", "--region", "0:0.25,0.5:", check, at("u.nc"))
	clitest.Good(t, "check", at("u.nc"))
	clitest.Shows(t, "section of density", "plot", "density", at("u.nc"), "-o", at("u.png"))
	clitest.Bad(t, 2, "has no field", "amr", "ls", "--stats", "--field", "rho", check)
	clitest.Bad(t, 2, "--region", "amr", "extract", "--region", "2:3,:", check, at("y.nc"))
	clitest.Bad(t, 2, "want 2 ranges LO:HI, such as 0.2:0.4,:0.5 ", "amr", "extract", "--region", "2:3", check, at("y.nc"))
}

// TestFiles checks that a copy has the same number of files, and that a generated mesh may have any number of root blocks.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "amr", "gen", "shock", "--roots", "3", "--cells", "4", "--files", "3", "--no-sync", at("Check"))
	clitest.Good(t, "amr", "check", at("Check"))
	clitest.Shows(t, "3 files", "amr", "convert", "--no-sync", "--to", "cello", at("Check"), at("Again"))
}
