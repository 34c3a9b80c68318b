package decomps_test

import (
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

func TestDecompFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Shows(t, "f.nc: CDF-5, 3 maps of 5 ranks, ", "decomp", "gen", "F", at("f.nc"), "--ne", "2", "--lev", "3", "--ranks", "5")
	clitest.Bad(t, cli.Failed, "--force", "decomp", "gen", "F", at("f.nc"))
	clitest.Good(t, "decomp", "convert", at("f.nc"), at("f.h5"))
	clitest.Good(t, "decomp", "convert", at("f.h5"), at("f.dat"))
	clitest.Bad(t, cli.Failed, "f.D1.dat already exists", "decomp", "convert", at("f.h5"), at("f.dat"))
	clitest.Good(t, "decomp", "convert", at("f.D1.dat"), at("f.D2.dat"), at("f.D3.dat"), at("again.nc"))
	want := clitest.Good(t, "decomp", "info", "--json", at("f.nc"))
	for _, name := range []string{"f.h5", "again.nc"} {
		got := clitest.Good(t, "decomp", "info", "--json", at(name))
		if strip(t, got) != strip(t, want) {
			t.Errorf("%s is not as it was:\n%s\nwant\n%s", name, got, want)
		}
	}
	out := clitest.Good(t, "decomp", "info", at("f.nc"))
	clitest.Holds(t, out, "D3   3 x 218", "654", "all")
	clitest.Shows(t, "5 of 7", "decomp", "info", "--ranks", "7", at("f.nc"))
	clitest.Good(t, "decomp", "gen", "I", at("i.nc"), "--lat", "8", "--lon", "12", "--ranks", "3")
	clitest.Good(t, "decomp", "gen", "G", at("g.nc"), "--cells", "60", "--lev", "2", "--ranks", "3")
	if got := clitest.Names(t, dir); strings.Contains(got, "partial") {
		t.Errorf("left behind: %s", got)
	}
}

// TestDecompRepeats checks that each verb reports a map with a repeated index, and counts only elements that have an owner.
func TestDecompRepeats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dup.dat")
	clitest.Check(t, os.WriteFile(file, []byte("version 2001 npes 1 ndims 1\n8\n0 5\n1 2 2 4 5\n"), 0o666))
	const says = "D1: 1 index given twice; a merge as in E3SM-IO claims 1 more"
	for _, verb := range [][]string{{"decomp", "info", file}, {"check", file}, {"decomp", "plot", file, "-o", file + ".png"}} {
		clitest.Shows(t, says, verb...)
	}
	clitest.Shows(t, "50.00 %            1\n", "decomp", "info", file)
	var d struct {
		Files []struct{ Maps []map[string]any }
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "decomp", "info", "--json", file)), &d))
	for name, want := range map[string]float64{"covered": 4, "uncovered": 4, "overlapped": 1, "repeated": 1, "repeated_adds": 1} {
		if got := d.Files[0].Maps[0][name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// strip reduces info's JSON to its maps.
func strip(t *testing.T, text string) string {
	t.Helper()
	var d struct {
		Files []struct{ Maps []any }
	}
	clitest.Check(t, json.Unmarshal([]byte(text), &d))
	b, err := json.Marshal(d.Files[0].Maps)
	clitest.Check(t, err)
	return string(b)
}

func TestDecompPlot(t *testing.T) {
	dir, _, variable, _ := clitest.Toys(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "decomp", "gen", "F", at("f.nc"), "--ne", "2", "--lev", "2", "--ranks", "4")
	for _, c := range [][2]string{{variable, "d2"}, {at("f.nc"), "D1"}, {at("f.nc"), "3"}} {
		clitest.Shows(t, "as an array", "decomp", "plot", c[0], "--map", c[1], "--width", "300", "-o", at("x.png"), "--force")
	}
	f, err := os.Open(at("x.png"))
	clitest.Check(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	clitest.Check(t, err)
	if w := img.Bounds().Dx(); w != 600 {
		t.Errorf("the picture is %d pixels wide, want 600", w)
	}
	clitest.Good(t, "decomp", "plot", at("f.nc"), "--where", "index", "-o", at("x.svg"))
	b := clitest.Read(t, at("x.svg"))
	clitest.Holds(t, string(b), "<svg")
	clitest.Bad(t, cli.Failed, "--force", "decomp", "plot", at("f.nc"), "-o", at("x.svg"))
}

// A small file can have a map of any size, so the picture must not need memory for each element.
func TestDecompPlotHuge(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const ncol = 54*30_000_000*30_000_000 + 2 // number of columns of a cubed sphere
	clitest.Check(t, os.WriteFile(at("f.dat"), fmt.Appendf(nil, "version 2001 npes 1 ndims 1\n%d\n0 2\n1 2\n", int64(ncol)), 0o666))
	clitest.Shows(t, "as an array", "decomp", "plot", at("f.dat"), "--width", "300", "-o", at("f.svg"))
}

func TestReplay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out := clitest.Good(t, "replay", "--ne", "1", "--lev", "3", "--ranks", "3", "--no-sync")
	clitest.Holds(t, out, "F_h0  variable-centric", "F_h1  process-centric", "elements: all correct")
	if got := clitest.Names(t, os.Getenv("TMPDIR")); got != "" {
		t.Errorf("the temporary directory is left: %s", got)
	}
	dir := filepath.Join(t.TempDir(), "run")
	var res struct {
		Dir     string
		Kept    bool
		Results []struct {
			Path     string
			Verified int64 `json:"verified_elements"`
			Subfiles int
		}
	}
	args := []string{"replay", "--case", "G", "--cells", "60", "--lev", "2", "--ranks", "5", "--nodes", "2", "--placement", "roundrobin",
		"--num-records", "3", "--flush", "2", "--layout", "process", "--pattern", "smooth", "--no-sync", "--no-convert", "--json", "-o", dir}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, args...)), &res))
	if len(res.Results) != 1 || res.Results[0].Subfiles != 2 || res.Results[0].Verified == 0 || !res.Kept {
		t.Errorf("replay --json: %+v", res)
	}
	if got := clitest.Names(t, dir); got != "G.h5.0000 G.h5.0001 G.h5.manifest" {
		t.Errorf("replay -o: %s", got)
	}
	clitest.Good(t, "check", dir)
	clitest.Bad(t, cli.Failed, "--force replaces the output", args...)
	clitest.Good(t, append(args, "--force")...)
}
