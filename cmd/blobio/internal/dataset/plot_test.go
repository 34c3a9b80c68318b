package dataset_test

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/crashtest"
	"blobio/internal/cli"
)

// TestPlotVariable checks that plot draws a variable of a dataset and reports variables that cannot be drawn. Without a
// variable it draws the map.
func TestPlotVariable(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	clitest.Good(t, "replay", "--ne", "2", "--lev", "6", "--pattern", "smooth", "--history", "h1", "--num-records", "3", "--no-convert", "--no-verify", "--no-sync", "-o", at("run"))
	data := at("run/F_h1.nc")
	for name, args := range crashtest.SomeOf(t, 3, map[string][]string{
		"map of T850":       {"T850", data},
		"map of U850":       {"U850", at("run/F_h1.h5"), "--records", "2", "--dark", "--plate"},
		"line of lev":       {"lev", data},
		"line of TS":        {"TS", data, "--kind", "line", "--x", "time", "-d", "ncol,5"},
		"section of TS":     {"TS", data, "--kind", "section"},
		"histogram of TS":   {"TS", data, "--kind", "histogram", "--between", "250,300", "--log"},
		"map of PS":         {"PS", data, "-d", "time,0001-01-02", "--colors", "grey"},
		"map of PRECT":      {"PRECT", data, "--log", "--colors", "white-blue"}, // in another family, --log takes a value
		"owners of D1, on ": {data},
	}) {
		out := at("x.png")
		clitest.Shows(t, name, append([]string{"plot", "-o", out, "--force", "--width", "300"}, args...)...)
		f, err := os.Open(out)
		clitest.Check(t, err)
		img, err := png.Decode(f)
		clitest.Check(t, err)
		f.Close()
		if img.Bounds().Dx() != 600 {
			t.Errorf("%v: %v", args, img.Bounds())
		}
	}
	var d struct {
		Path, Variable, Kind, Title string
		Bytes                       int64
		Notes                       []string
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "plot", "T850", data, "--json", "-o", at("t.svg"))), &d))
	if info, err := os.Stat(at("t.svg")); err != nil || d.Bytes != info.Size() || d.Kind != "map" || d.Variable != "T850" || d.Notes == nil {
		t.Errorf("%+v, %v", d, err)
	}
	for words, args := range map[string][]string{
		"has no variable \"t850\"; did you mean \"T850\"": {"t850", data},
		"index 3, want 0 to 2":                            {"T850", data, "--records", "3"},
		"has no levels":                                   {"T850", data, "--level", "3"},
		"has no records":                                  {"lat", data, "--records", "0"},
		"holds text":                                      {"time_written", data},
		"map of T850 shows all of dimension ncol":         {"T850", data, "-d", "ncol,5"},
		"line of TS shows all of dimension time":          {"TS", data, "--kind", "line", "--x", "time", "--records", "1"},
		"is a single number":                              {"P0", data},
		"want two numbers":                                {"T850", data, "--between", "3"},
		"want auto, map, section":                         {"T850", data, "--kind", "cake"},
		"no dimension \"what\"":                           {"T850", data, "--kind", "line", "--x", "what"},
		"dimension time has 2 elements selected":          {"T850", data, "-d", "time,0,1"},
		"nor subfile":                                     {"T850", at("none.nc")},
		"begins at -1":                                    {"T850", data, "--log", "--between", "-1,1"},
		"lev has no coordinates: no latitudes and":        {"lev", data, "--kind", "map"},
	} {
		r := clitest.Blobio(t, append([]string{"plot", "-o", at("no.png")}, args...)...)
		if r.Code != cli.Failed || !strings.Contains(r.Err, words) || clitest.There(at("no.png")) {
			t.Errorf("%v: %d, want %q\n%s%s", args, r.Code, words, r.Out, r.Err)
		}
	}
	clitest.Bad(t, cli.Failed, "--force", "plot", "T850", data, "-o", at("x.png"))
}
