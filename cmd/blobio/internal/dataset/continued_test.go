package dataset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestContinuedVerbs continues a dataset of another program, with E3SM's names and no manifest, on other ranks and with a new
// variable. Verbs see one dataset, and ls shows the writers.
func TestContinuedVerbs(t *testing.T) {
	_, _, variable, process := clitest.Toys(t)
	dir := t.TempDir()
	var dumps []string
	for _, from := range []string{variable, process} {
		name := filepath.Join(dir, "20001231.F2010.ne4_oQU240.eam.h0.2001-01.nc"+filepath.Ext(from))
		for k := range 2 { // rename only the subfiles, not the manifest
			end := []string{".0000", ".0001"}[k]
			clitest.Check(t, os.Rename(from+end, name+end))
		}
		more := func(s *blob.Schema) {
			s.Var("PRECT", cdf5.Float, []blob.DimID{0, s.Dim("bnds", 2)}, blob.Att("units", "m/s"))
		}
		clitest.Continue(t, name, 4, 3, nil)
		clitest.Continue(t, name, 4, 3, more)
		clitest.Continue(t, name, 2, 1, nil)
		canon := name + ".canonical"
		clitest.Good(t, "check", name)
		clitest.Good(t, "convert", "--no-sync", name, canon)
		clitest.Good(t, "diff", name, canon)
		_, got, _ := strings.Cut(clitest.Good(t, "dump", name), "\n") // without the first line, which has the name
		_, want, _ := strings.Cut(clitest.Good(t, "dump", canon), "\n")
		if got != want || !strings.Contains(got, "day 0005") || !strings.Contains(got, "PRECT:units") {
			t.Errorf("dump of the dataset:\n%s\nof the file that it becomes:\n%s", got, want)
		}
		dumps = append(dumps, got)

		other := filepath.Join(dir, "other"+filepath.Ext(from))
		clitest.Good(t, "convert", "--no-sync", "--to", "variable-centric", "--ranks", "3", "--records", "0:5", name, other)
		r := clitest.Blobio(t, "diff", name, other)
		if r.Code != cli.Findings || !strings.Contains(r.Out, "records") {
			t.Errorf("diff with fewer records: %d\n%s%s", r.Code, r.Out, r.Err)
		}
		clitest.Continue(t, other, 5, 2, nil)
		clitest.Good(t, "diff", name, other)

		out := clitest.Good(t, "ls", name)
		clitest.Holds(t, out, "2 to 4 ranks, 9 subfiles, 6 records", "sets: records 0 to 2 by 3 ranks in 2 subfiles; records 3 to 4 by 4 ranks in 6 subfiles; records 5 to 5 by 2 ranks in 1 subfile\n", "PRECT")
		if out = clitest.Good(t, "ls", dir); !strings.Contains(out, "2 to 4") {
			t.Errorf("ls of the directory:\n%s", out)
		}
		var x struct {
			Datasets []struct {
				Ranks, Subfiles int
				Sets            []struct{ First, Records, Ranks, Subfiles, Count int }
			}
			Checked []struct{ Status blobStatus }
		}
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ls", "--json", name)), &x))
		if d := x.Datasets[0]; d.Ranks != 3 || d.Subfiles != 2 || len(d.Sets) != 3 || d.Sets[1].Ranks != 4 || d.Sets[1].Count != 2 || d.Sets[1].Records != 2 || d.Sets[2].First != 5 {
			t.Errorf("ls --json: %+v", d)
		}
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "check", "--json", name)), &x))
		if s := x.Checked[0].Status; s.State != "finished" || s.Records != 6 {
			t.Errorf("check --json: %+v", s)
		}
	}
	if dumps[0] != dumps[1] {
		t.Errorf("the layouts differ:\n%s\n%s", dumps[0], dumps[1])
	}
}

type blobStatus struct {
	State   string
	Records int
}
