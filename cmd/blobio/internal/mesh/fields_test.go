package mesh_test

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

const realPlot = "../../../../testdata/plotfile/plt00002"

// TestFieldVerbs: the verbs about values take each form of one mesh, and say the same of each.
func TestFieldVerbs(t *testing.T) {
	_, check, native := clitest.Mesh(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "plotfile", "--files", "2", check, at("plt"))
	var first string
	for _, path := range []string{check, native, at("plt")} {
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
		if err := json.Unmarshal([]byte(clitest.Good(t, "amr", "stats", "--json", path)), &out); err != nil {
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
		if s := clitest.Good(t, "amr", "diff", check, path); !strings.Contains(s, "are equal") {
			t.Errorf("amr diff: %s", s)
		}
		for _, args := range [][]string{{"--edges"}, {"--log", "--between", "0.5,4", "--region", "0:0.5,:"}} {
			name := at(filepath.Base(path) + args[0] + ".png")
			clitest.Good(t, append([]string{"amr", "plot", path, "--field", "density", "-o", name}, args...)...)
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			if img, err := png.Decode(f); err != nil || img.Bounds().Dx() != 1440 {
				t.Errorf("%s: %v", name, err)
			}
			f.Close()
		}
	}
	if s := clitest.Good(t, "amr", "extract", "--field", "density", "--level", "1", "--region", "0:0.25,0.5:", native, at("u.nc")); !strings.Contains(s, "16 × 8 cells of level 1") {
		t.Errorf("amr extract: %s", s)
	}
	clitest.Good(t, "check", at("u.nc"))
	clitest.Bad(t, 2, "has no field", "amr", "stats", "--field", "rho", check)
	clitest.Bad(t, 2, "goes with --field", "amr", "plot", check, "--log", "-o", at("x.png"))
	clitest.Bad(t, 2, "--region", "amr", "extract", "--region", "2:3,:", check, at("y.nc"))
}

// TestPlotfile: the verbs of any path know a plotfile, and a native copy of it has the same values and particles.
func TestPlotfile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for verb, want := range map[string]string{"ls": "plotfile of AMReX, 2-D, 8 grids on 2 levels", "check": "good"} {
		if s := clitest.Good(t, "amr", verb, realPlot); !strings.Contains(s, want) {
			t.Errorf("%s: %s", verb, s)
		}
	}
	clitest.Good(t, "amr", "convert", "--no-sync", realPlot, at("mesh.nc"))
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "plotfile", at("mesh.nc"), at("plt"))
	clitest.Good(t, "amr", "diff", realPlot, at("plt"))
	if s := clitest.Good(t, "amr", "check", at("plt")); !strings.HasSuffix(strings.TrimSpace(s), "good") {
		t.Errorf("amr check: %s", s)
	}
	clitest.Good(t, "amr", "extract", "--particles", "particles", at("plt"), at("p.csv"))
	b, err := os.ReadFile(at("p.csv"))
	if err != nil || strings.Count(string(b), "\n") != 257 {
		t.Errorf("%d lines, %v", strings.Count(string(b), "\n"), err)
	}
	clitest.FlipByte(t, at("plt/Level_0/Cell_D_00000"), 500)
	clitest.Bad(t, 1, "", "amr", "check", at("plt"))
	clitest.Bad(t, 2, "checksum", "amr", "stats", at("plt"))
	clitest.Bad(t, 2, "exists", "amr", "convert", "--to", "plotfile", at("mesh.nc"), at("plt"))
}

// TestFiles: the native form remembers the number of files, and a generated mesh may have any number of root blocks.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "amr", "gen", "shock", "--roots", "3", "--cells", "4", "--files", "3", "--no-sync", at("Check"))
	clitest.Good(t, "amr", "check", at("Check"))
	clitest.Good(t, "amr", "convert", "--no-sync", at("Check"), at("mesh.nc"))
	if s := clitest.Good(t, "amr", "convert", "--no-sync", "--to", "cello", at("mesh.nc"), at("Again")); !strings.Contains(s, "3 files") {
		t.Errorf("amr convert: %s", s)
	}
}
