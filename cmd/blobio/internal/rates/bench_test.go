package rates_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/bench"
	"blobio/internal/cli"
)

func TestBenchList(t *testing.T) {
	out := clitest.Good(t, "bench", "run", "--list")
	for _, w := range bench.Workloads() {
		clitest.Holds(t, out, w.Name)
	}
	if out := clitest.Good(t, "bench", "run", "--list", "--json"); !strings.HasPrefix(out, "{") {
		t.Errorf("JSON: %s", out)
	}
}

// TestBenchRun checks a run and its tables.
func TestBenchRun(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	out := clitest.Good(t, "bench", "run", "--quick", "records", "check", "--dir", dir, "-o", results)
	if !strings.Contains(out, "append a record") || strings.Count(out, "results are in") != 2 {
		t.Errorf("output\n%s", out)
	}
	files := clitest.Glob(t, filepath.Join(results, "*.json"))
	if len(files) != 2 {
		t.Fatalf("files %v, want 2", files)
	}
	var res bench.Results
	if err := json.Unmarshal([]byte(clitest.Good(t, "bench", "run", "--quick", "check", "--dir", dir, "--json")), &res); err != nil || len(res.Rows) != 2 {
		t.Errorf("JSON: %v, %d rows, want 2", err, len(res.Rows))
	}
	clitest.Shows(t, "variable-centric", "bench", "show", files[1])
}

// TestBenchLeavesNothing checks that a quick run removes all files that it wrote.
func TestBenchLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	clitest.Good(t, "bench", "run", "--quick", "check", "--dir", dir)
	left, err := os.ReadDir(dir)
	clitest.Check(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBenchUsage(t *testing.T) {
	clitest.Bad(t, cli.Failed, `unknown workload "nothing"`, "bench", "run", "nothing")
	clitest.Bad(t, cli.Failed, "--runs 0", "bench", "run", "--runs", "0")
	clitest.Bad(t, cli.Failed, "", "bench", "run", "check", "--quick", "--dir", filepath.Join(t.TempDir(), "nowhere"))
	file := filepath.Join(t.TempDir(), "file")
	clitest.Check(t, os.WriteFile(file, nil, 0o666))
	args := []string{"bench", "run", "check", "--quick", "--dir", t.TempDir(), "-o", filepath.Join(file, "results")}
	clitest.Bad(t, cli.Failed, "not a directory", args...)
	if r := clitest.Blobio(t, args...); r.Out != "" { // the error must come before any measurement
		t.Errorf("%v: prints\n%s", args, r.Out)
	}
	clitest.Bad(t, cli.Failed, "", "bench", "show", filepath.Join(t.TempDir(), "nothing"))
}
