//go:build mpi && cgo && linux

package verbs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/calls/callstest"
	"blobio/internal/comm/mpitest"
)

// TestSeenByInterposersUnderMPI checks that all writes of replay go through the C library, where tools such as Darshan see them.
func TestSeenByInterposersUnderMPI(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	clitest.Check(t, os.Mkdir(out, 0o777))
	i, err := callstest.New(t, out)
	clitest.Check(t, err)
	exe, err := os.Executable()
	clitest.Check(t, err)
	const ranks = 2
	env := append(i.Env(), "BLOBIO_TEST_MAIN=1")
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

	reads, synced := 0, 0
	for _, c := range calls {
		switch c.Kind {
		case "read":
			reads++
		case "sync":
			synced++
		}
	}
	if reads == 0 || synced == 0 {
		t.Errorf("%d reads and %d syncs were seen", reads, synced)
	}
}
