package verbs_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
)

var update = flag.Bool("update", false, "write testdata/json-fields.txt anew")

const jsonFieldsFile = "testdata/json-fields.txt"

// fields collects the names of all fields of a value with the kinds of their contents. Array elements count as one. Names below a
// field "data" are left out, because they come from a file.
func fields(at string, v any, into map[string][]string) {
	kind := ""
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		if data := strings.HasSuffix(at, ".attributes") || strings.HasSuffix(at, ".data"); !data {
			for k, x := range v {
				fields(at+"."+k, x, into)
			}
		}
	case []any:
		kind = "array"
		for _, x := range v {
			fields(at+"[]", x, into)
		}
	case string:
		kind = "string"
	case float64:
		kind = "number"
	case bool:
		kind = "bool"
	case nil:
		kind = "null"
	}
	if !slices.Contains(into[at], kind) {
		into[at] = append(into[at], kind)
	}
}

// TestJSONFields checks that the JSON output of verbs has exactly the fields and kinds in testdata/json-fields.txt. -update may
// add lines, but lines must never be removed, because programs rely on the fields.
func TestJSONFields(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	broken := filepath.Join(dir, "broken.nc")
	clitest.Good(t, "convert", "--no-sync", "--to", "variable-centric", "--ranks", "2", canon, broken)
	clitest.FlipByte(t, broken+".0000", -1)
	continued := filepath.Join(t.TempDir(), "continued.nc")
	clitest.Good(t, "convert", "--no-sync", "--to", "variable-centric", "--ranks", "2", canon, continued)
	clitest.Continue(t, continued, 3, 1, nil)
	other := clitest.Toy(t, t.TempDir())
	clitest.FlipByte(t, other, -1)
	_, mesh, _ := clitest.Mesh(t)
	ffs, sets := clitest.FFStore(t), clitest.ScrSets(t, 2)
	versions, key := clitest.VersionStore(t)
	fti := "../../../../testdata/fti/tiny/v1.4/l1"
	files := clitest.Glob(t, filepath.Join(fti, "*.fti"))
	out := t.TempDir()
	got := map[string]map[string][]string{}
	for _, args := range [][]string{
		{"ls", variable}, {"ls", process}, {"ls", "--stats", "--by-record", variable}, {"ls", dir}, {"ls", continued},
		{"dump", canon}, {"dump", "--layout", variable}, {"check", variable}, {"check", broken}, {"diff", canon, variable}, {"diff", canon, other},
		{"where", "T[0,0,0]", variable}, {"where", "T[0,0,0]", process}, {"recover", "-n", variable},
		{"convert", "--no-sync", variable, filepath.Join(out, "c.nc")},
		{"decomp", "info", variable},
		{"ff", "ls", files[0]}, {"ff", "ls", ffs}, {"ff", "check", files[0]}, {"ff", "diff", files[0], files[0]},
		{"scr", "index", sets}, {"scr", "check", sets}, {"scr", "interval", "--cost", "45s", "--mtbf", "6h"},
		{"amr", "ls", "--blocks", mesh}, {"amr", "check", mesh},
		{"versions", "ls", versions}, {"versions", "check", filepath.Join(versions)},
		{"cost"}, {"replay", "--case", "F_h1", "--ne", "2", "--ranks", "2", "--no-sync", "-o", filepath.Join(out, "run")},
	} {
		r := clitest.Blobio(t, append(args, "--json")...)
		var v any
		if err := json.Unmarshal([]byte(r.Out), &v); err != nil {
			t.Errorf("%q (%s): %v: %.300s%s", args, key, err, r.Out, r.Err)
			continue
		}
		verb := args[0]
		if slices.Contains([]string{"decomp", "ff", "scr", "amr", "versions"}, verb) {
			verb += " " + args[1]
		}
		if got[verb] == nil {
			got[verb] = map[string][]string{}
		}
		fields("", v, got[verb])
	}
	var lines []string
	for _, verb := range slices.Sorted(maps.Keys(got)) {
		for _, f := range slices.Sorted(maps.Keys(got[verb])) {
			if f != "" {
				slices.Sort(got[verb][f])
				lines = append(lines, verb+": "+strings.TrimPrefix(f, ".")+" "+strings.Join(got[verb][f], "|"))
			}
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	if *update {
		clitest.Check(t, os.MkdirAll(filepath.Dir(jsonFieldsFile), 0o777))
		clitest.Check(t, os.WriteFile(jsonFieldsFile, []byte(text), 0o666))
	}
	b := clitest.Read(t, jsonFieldsFile)
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, l := range want {
		if !slices.Contains(lines, l) {
			t.Errorf("gone or changed, and programs rely on it: %s", l)
		}
	}
	for _, l := range lines {
		if !slices.Contains(want, l) {
			t.Logf("new: add it to %s with -update, and to the help of the verb: %s", jsonFieldsFile, l)
		}
	}
}
