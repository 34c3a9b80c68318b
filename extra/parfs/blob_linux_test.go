package parfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"blobio/internal/base/crashtest"
)

// program is the tests of package blob. The place is where they find their data.
var program = sync.OnceValues(func() (string, error) {
	name := filepath.Join(os.Getenv(envInside), "blob.test")
	return name, command("go", "test", "-C", "../..", "-c", "-o", name, "./blob")
})

// inPlaces runs tests of package blob on a file system, seen as its two clients do. They wait more than they work.
func inPlaces(t *testing.T, s *system, pattern string, env ...string) {
	t.Helper()
	name, err := program()
	must(t, err)
	dir := s.folder(t)
	cmd := exec.Command(name, "-test.v", "-test.parallel=8", "-test.timeout=25m", "-test.run="+pattern)
	cmd.Dir = "../../blob"
	cmd.Env = append(append(os.Environ(), "BLOBIO_TEST_PLACES="+strings.Join(dir[:], string(os.PathListSeparator))), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	faults, tests := 0, 0
	for line := range strings.Lines(string(out)) {
		var ops, n int
		if _, what, ok := strings.Cut(line, "scenario.go:"); ok {
			if _, what, ok = strings.Cut(what, ": "); ok {
				if _, err := fmt.Sscanf(what, "%d operations, %d faults", &ops, &n); err == nil {
					faults += n
				}
			}
		}
		if strings.Contains(line, "races as they must be") {
			t.Log(strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "--- PASS") {
			tests++
		}
	}
	if tests == 0 {
		t.Fatalf("no test is %s", pattern)
	}
	if faults > 0 {
		t.Logf("%d faults", faults)
	}
}

// TestFaults: operations of a writer fail, or it ends there; the other client reads what is left, and writes next.
func TestFaults(t *testing.T) {
	all := systems(t)
	t.Parallel()
	cases := crashtest.Times("/(variable-centric-rename-1|process-centric-manifest-3|apart-variable-centric-2-1|compressed-2|async-variable-centric-0)(-foreign=false|-more=true)?$", "")
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			inPlaces(t, s, "^TestFault(Create|Replace|Append)$"+cases)
		})
	}
}

// TestRaces: processes on two machines write one dataset at once, and some are killed.
func TestRaces(t *testing.T) {
	all := systems(t)
	t.Parallel()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			inPlaces(t, s, "^TestRaces$", "BLOBIO_RACES="+crashtest.Times("4", "60"))
		})
	}
}
