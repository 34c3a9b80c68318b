//go:build mpi && cgo && linux

package verbs_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/calls/callstest"
	"blobio/internal/mpitest"
	"blobio/internal/trace"
	"blobio/internal/trace/tracetest"
)

// TestSeenByInterposersUnderMPI: all that replay writes goes through the C library, where tools see it, and the trace has the same
// reads and writes.
func TestSeenByInterposersUnderMPI(t *testing.T) {
	dir := t.TempDir()
	out, traces := filepath.Join(dir, "out"), filepath.Join(dir, "traces")
	clitest.Check(t, os.Mkdir(out, 0o777))
	clitest.Check(t, os.Mkdir(traces, 0o777))
	i, err := callstest.New(t, out)
	clitest.Check(t, err)
	exe, err := os.Executable()
	clitest.Check(t, err)
	const ranks = 2
	env := append(i.Env(), "BLOBIO_TEST_MAIN=1", trace.Variable+"="+filepath.Join(traces, "%r.dxt"))
	said, err := mpitest.Run(t, ranks, 5*time.Minute, env, exe, "replay", "--case", "F_h1", "--num-records", "3", "-o", filepath.Join(out, "run"))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	calls, processes := i.Calls(t)
	if processes != ranks {
		t.Errorf("calls of %d processes", processes)
	}
	list, err := os.ReadDir(filepath.Join(out, "run"))
	clitest.Check(t, err)
	for _, e := range list {
		name := filepath.Join(out, "run", e.Name())
		n, writes := callstest.Covers(t, calls, name)
		info, err := e.Info()
		clitest.Check(t, err)
		t.Logf("%s: %d of %d bytes by %d writes", e.Name(), n, info.Size(), writes)
		if !slices.ContainsFunc(calls, func(c callstest.Call) bool { return c.Kind == "rename" && c.Name == name }) {
			t.Errorf("%s: its rename was not seen", name)
		}
	}
	if len(list) < 4 {
		t.Errorf("%d files", len(list))
	}

	traced, files, err := tracetest.ReadAll(filepath.Join(traces, "*.dxt"))
	clitest.Check(t, err)
	if files != ranks {
		t.Errorf("%d traces", files)
	}
	var want, got []string
	synced := 0
	for _, c := range calls {
		switch c.Kind {
		case "read", "write":
			if c.N > 0 { // the end of a file is no data
				want = append(want, fmt.Sprintf("%s %s %d %d", c.Name, c.Kind, c.Off, c.N))
			}
		case "sync":
			synced++
		}
	}
	for _, c := range traced {
		if c.Op == "read" || c.Op == "write" {
			got = append(got, fmt.Sprintf("%s %s %d %d", c.File, c.Op, c.Off, c.N))
		}
	}
	slices.SortFunc(want, cmp.Compare[string])
	slices.SortFunc(got, cmp.Compare[string])
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the traces have %d reads and writes, the C library saw %d, or others:\n%s\nwant\n%s", len(got), len(want), difference(got, want), difference(want, got))
	}
	if synced == 0 {
		t.Error("no sync was seen")
	}
	t.Logf("%d reads and writes", len(want))
}

// difference is what of a is not in b, the first of it.
func difference(a, b []string) string {
	in := map[string]int{}
	for _, s := range b {
		in[s]++
	}
	var out []string
	for _, s := range a {
		if in[s]--; in[s] < 0 && len(out) < 10 {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}
