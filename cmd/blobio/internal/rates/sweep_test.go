package rates_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/rates"
	"blobio/internal/base/testfiles"
	"blobio/internal/bench"
	"blobio/internal/cli"
)

// TestBenchSweepExamples checks that the examples in the help run, the largest one with fewer ranks.
func TestBenchSweepExamples(t *testing.T) {
	testfiles.Ask(t, "LONG")
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	cmd, _, err := rates.NewBench(&cli.Env{}).Find([]string{"sweep"})
	clitest.Check(t, err)
	ran := 0
	for line := range strings.Lines(cmd.Example) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "blobio ")
		if !ok {
			continue
		}
		out := clitest.Good(t, append(strings.Fields(rest), "--repeats", "1", "--num-records", "1")...)
		if !strings.Contains(out, "results are in s") && !strings.Contains(out, "written in all") {
			t.Errorf("%s\n%s", line, out)
		}
		ran++
	}
	left, err := filepath.Glob(filepath.Join(dir, "blobio-*"))
	if err != nil || len(left) > 0 || ran < 4 {
		t.Errorf("%d examples; left behind: %v", ran, left)
	}
}

// TestBenchSweep checks a sweep from the plan to the files of results, and its continuation after an
// interruption.
func TestBenchSweep(t *testing.T) {
	dir := t.TempDir()
	args := func(more ...string) []string {
		return append([]string{"bench", "sweep", "--ranks", "2,4", "--buffer", "64K,1M", "--durability", "none", "--elements", "20", "--variables", "2", "--repeats", "2", "--dir", dir, "-o", filepath.Join(dir, "s")}, more...)
	}
	out := clitest.Good(t, args("--plan")...)
	clitest.Holds(t, out, "4 points, 8 runs", "64K")
	var table bench.SweepTable
	if err := json.Unmarshal([]byte(clitest.Good(t, args("--plan", "--json")...)), &table); err != nil || len(table.Points) != 4 {
		t.Errorf("plan: %v %+v", err, table)
	}
	if _, err := os.Stat(filepath.Join(dir, "s")); err == nil {
		t.Error("the plan makes a directory")
	}
	out = clitest.Good(t, args("--limit", "0.000001")...)
	clitest.Holds(t, out, "0 of 8 runs", "the same command continues")
	out = clitest.Good(t, args()...)
	if !strings.Contains(out, "8 of 8 runs") || strings.Contains(out, "the same command continues") {
		t.Errorf("output\n%s", out)
	}
	var s bench.Sweep
	if err := json.Unmarshal([]byte(clitest.Good(t, args("--json")...)), &s); err != nil || len(s.Runs) != 8 || s.Version != 1 || len(s.Sessions) != 3 {
		t.Errorf("JSON: %v %+v", err, s)
	}
	b := clitest.Read(t, filepath.Join(dir, "s", "sweep.csv"))
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(lines) != 9 || lines[0][0] != "sweep_version" || lines[1][0] != "1" {
		t.Errorf("CSV: %v\n%s", err, b)
	}
	clitest.Bad(t, cli.Failed, "a different plan", args("--num-records", "5")...)
	r := clitest.Blobio(t, args("--anew", "--memory", "10")...)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "failed") || !strings.Contains(r.Err, "memory limit is 10") {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
	}
	for words, more := range map[string][]string{"--map": {"--map", "x"}, "--limit": {"--limit", "soon"}, "--buffer": {"--buffer", "much"}, "buffer": {"--buffer", "7"}, "compute": {"--compute", "long"}} {
		if r := clitest.Blobio(t, args(more...)...); r.Code == cli.Good || !strings.Contains(r.Err, words) {
			t.Errorf("%v: exit code %d, %s", more, r.Code, r.Err)
		}
	}
}
