package scrtools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/base/crashtest"
	"blobio/internal/cli"
	"blobio/internal/scr/runloop"
)

// TestMain lets the test program act as blobio under mpirun.
func TestMain(m *testing.M) {
	if os.Getenv("BLOBIO_TEST_TRANSFER") != "" && len(os.Args) == 1 {
		if err := transferProgram(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("BLOBIO_TEST_OPEN"); dir != "" {
		if err := openSession(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("BLOBIO_TEST_MAIN") != "" {
		verbs.Main()
	}
	crashtest.Main(m)
}

// allocation sets up an allocation without a resource manager, with sh.
func allocation(t *testing.T) (prefix string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: wants sh")
	}
	for _, name := range []string{"sh", "sleep", "true"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
	for _, name := range []string{"SCR_NODELIST", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "FLUX_JOB_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_HOSTS", "SCR_PREFIX", "SCR_RUNS"} {
		t.Setenv(name, "")
	}
	base := t.TempDir()
	t.Setenv("SCR_CNTL_BASE", base)
	t.Setenv("SCR_CACHE_BASE", base)
	return t.TempDir()
}

func TestScrRun(t *testing.T) {
	prefix := allocation(t)
	common := []string{"scr", "run", "--prefix", prefix, "--nodes", "n[1-5]", "--use", "4", "--pause", "0s"}
	script := `cd "$SCR_PREFIX"; if test -e again.$BLOBIO_RANK; then exit 0; fi; : > again.$BLOBIO_RANK
while test $(ls again.* | wc -l) -lt 4; do sleep 0.01; done
test $BLOBIO_NODE != n2 && exec sleep 1000; mv ` + prefix + `/nodes/n2 ` + prefix + `/n2; kill -9 $$`
	r := clitest.Blobio(t, append(common, "--node-root", prefix+"/nodes", "--runs", "3", "--json", "--", "sh", "-c", script)...)
	var rep runloop.Report
	if err := json.Unmarshal([]byte(r.Out), &rep); err != nil || r.Code != cli.Good {
		t.Fatal(r, err)
	}
	if len(rep.Runs) != 2 || rep.Stop != runloop.Done || len(rep.Down) != 1 || rep.Down[0].Node != "n2" || strings.Join(rep.Runs[1].Nodes, ",") != "n1,n5,n3,n4" || rep.Salvage != "done" {
		t.Errorf("%+v\n%s", rep, r.Err)
	}
	clitest.Holds(t, r.Err, "run 1 of 3 on n[1-4]: 4 processes", "node down: n2: echo", "run 2 of 3 on n[1,3-5]", "stop: done", "there is nothing to save")

	r = clitest.Blobio(t, append(common, "--", "sh", "-c", "echo out $BLOBIO_RUN; echo err >&2; exit 3")...)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "out 1\n") || strings.Contains(r.Out, "stop") || !strings.Contains(r.Err, "stop: no runs left: 1 of 1") || !strings.Contains(r.Err, "err\n") {
		t.Errorf("%d\n%s\n%s", r.Code, r.Out, r.Err)
	}
	r = clitest.Blobio(t, append(common, "--", "/no/such/program")...)
	if r.Code != cli.Failed || !strings.Contains(r.Err, "does the program exist?") {
		t.Errorf("%d\n%s\n%s", r.Code, r.Out, r.Err)
	}

	for words, args := range map[string][]string{
		"want local, mpirun":                      {"--launcher", "x", "--", "true"},
		"a program to run":                        {},
		"no program with --only":                  {"--only", "prerun", "--", "true"},
		"--use 9 is more than the allocation has": {"--use", "9", "--", "true"},
		"a run needs 9 nodes":                     {"--min-nodes", "9", "--", "true"},
		"needs --watchdog":                        {"--watchdog-pfs", "1h", "--", "true"},
		"--launcher-arg is for":                   {"--launcher-arg", "x", "--", "true"},
		"want NAME=VALUE":                         {"-s", "x", "--", "true"},
		"SCR_NODE_TESTS names":                    {"--tests", "x", "--", "true"},
		"want local, ssh, srun, none":             {"--remote", "x", "--", "true"},
		"--exclude":                               {"--exclude", "n[", "--", "true"},
		"unknown flag":                            {"--nosuch", "--", "true"},
		"times must not":                          {"--grace", "-1s", "--", "true"},
		"no such file or directory":               {"--prefix", prefix + "/none", "--", "true"},
		"SCR_WATCHDOG_TIMEOUT is not se":          {"-s", "SCR_WATCHDOG=1", "--", "true"},
	} {
		if words == "--exclude" {
			words = "SCR_EXCLUDE_NODES"
		}
		clitest.Bad(t, cli.Failed, words, append(common[:len(common):len(common)], args...)...)
	}
}

func TestScrRunDry(t *testing.T) {
	prefix := allocation(t)
	marker, programs := filepath.Join(prefix, "ran"), t.TempDir()
	clitest.Check(t, os.WriteFile(filepath.Join(programs, "mpirun"), []byte("#!/bin/sh\n"), 0o755))
	path := os.Getenv("PATH")
	t.Setenv("PATH", programs+":"+path)
	out := clitest.Good(t, "scr", "run", "-n", "--prefix", prefix, "--launcher", "mpirun", "--remote", "none", "--nodes", "n[1-5]", "--use", "3", "--per-node", "2", "--exclude", "n2", "--runs", "4", "--", "touch", marker)
	clitest.Holds(t, out, "n[1-5] (5, from --nodes)", "down            n2: excluded: by SCR_EXCLUDE_NODES", "used              n[1,3-4]", "spare             n5", "at most 4",
		"starts            mpirun -np 6 --host n1:2,n3:2,n4:2 --map-by slot -x ", " -x SCR_CACHE_BASE -x SCR_CNTL_BASE ", " touch "+marker+"\n")
	if list, _ := os.ReadDir(prefix); len(list) != 0 {
		t.Errorf("a dry run left %v", list)
	}
	r := clitest.Blobio(t, "scr", "run", "-n", "--json", "--prefix", prefix, "--nodes", "n[1-5]", "--min-nodes", "5", "--exclude", "n2", "--", "true")
	var p scrtools.ScrPlan
	if err := json.Unmarshal([]byte(r.Out), &p); err != nil || r.Code != cli.Findings || p.Needs != 5 || len(p.Use) != 0 || len(p.Command) != 0 {
		t.Error(r, err)
	}
	t.Setenv("PATH", prefix)
	r = clitest.Blobio(t, "scr", "run", "-n", "--prefix", prefix, "--launcher", "mpirun", "--remote", "ssh", "--nodes", "n[1-3]", "--down", "n2", "--use", "2", "--tests", "echo", "--", "true")
	for _, want := range []string{"missing command   mpirun\n", "missing command   ssh\n", "skipped         echo: ", "down            n2: named: by --down\n", "used              n[1,3]\n"} {
		if r.Code != cli.Findings || !strings.Contains(r.Out, want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

func TestScrCheckNode(t *testing.T) {
	allocation(t)
	dir := t.TempDir()
	clitest.Shows(t, "good", "scr", "check-node", "--dir", dir+"=1k")
	if out := clitest.Good(t, "scr", "check-node"); strings.Count(out, "good") != 1 { // control and cache base are the same
		t.Error(out)
	}
	r := clitest.Blobio(t, "scr", "check-node", "--json", "--free", "--dir", dir+"=1000000t", "--dir", dir+"/none")
	var got struct{ Dirs []runloop.DirCheck }
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || r.Code != cli.Findings || len(got.Dirs) != 2 || !strings.Contains(got.Dirs[0].Capacity, "free are") || got.Dirs[1].List == "" {
		t.Error(r, err)
	}
	clitest.Bad(t, cli.Failed, "want DIR=SIZE", "scr", "check-node", "--dir", dir+"=x")
}

func TestScrPrePostrun(t *testing.T) {
	prefix := allocation(t)
	out := clitest.Good(t, "scr", "run", "--only", "prerun", "--nodes", "n[1-3]", "--node-root", prefix+"/nodes", "--prefix", prefix)
	clitest.Holds(t, out, "3 of 3 nodes are up: n[1-3]")
	if _, err := os.Stat(filepath.Join(prefix, ".scr")); err != nil {
		t.Error(err)
	}
	clitest.Check(t, os.RemoveAll(filepath.Join(prefix, "nodes", "n2")))
	out = clitest.Good(t, "scr", "run", "--only", "postrun", "--nodes", "n[1-3]", "--node-root", prefix+"/nodes", "--prefix", prefix)
	clitest.Holds(t, out, "node down: n2", "2 of 3 nodes are up", "nothing to save")
	clitest.Bad(t, cli.Failed, "no node is up", "scr", "run", "--only", "postrun", "--nodes", "n1", "--node-root", prefix+"/none", "--prefix", prefix)
}

// TestScrRunNotes checks that a misspelled parameter is reported.
func TestScrRunNotes(t *testing.T) {
	r := clitest.Blobio(t, "scr", "run", "--prefix", allocation(t), "-s", "SCR_FLUSCH=1", "--tests", "none", "--", "true")
	if r.Code != cli.Good || !strings.Contains(r.Err, "scr run: note: environment: unknown parameter SCR_FLUSCH\n") {
		t.Errorf("%+v", r)
	}
}
