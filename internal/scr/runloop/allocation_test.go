package runloop

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"blobio/internal/base/fault"
)

// bare sets up an environment without a resource manager.
func bare(t *testing.T) (prefix string) {
	t.Helper()
	for _, name := range []string{"SCR_NODELIST", "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "FLUX_JOB_NODELIST", "PBS_NODEFILE",
		"LSB_DJOB_HOSTFILE", "LSB_HOSTS", "SCR_PREFIX", "SCR_RUNS", "SCR_EXCLUDE_NODES", "SCR_NODE_TESTS"} {
		t.Setenv(name, "")
	}
	base := t.TempDir()
	t.Setenv("SCR_CNTL_BASE", base)
	t.Setenv("SCR_CACHE_BASE", base)
	return t.TempDir()
}

// TestFindAllocation checks that options override the environment, and determine how nodes are reached and tested.
func TestFindAllocation(t *testing.T) {
	prefix, root := bare(t), t.TempDir()
	t.Setenv("SCR_NODELIST", "n[7-9]")
	for _, c := range []struct {
		o     AllocationOptions
		nodes []string
		reach string // here, ssh or none
		tests []string
	}{
		{AllocationOptions{}, []string{"n7", "n8", "n9"}, "ssh", []string{"ping", "echo", "dir_capacity"}},
		{AllocationOptions{Nodes: "n[1-2]", OneHost: true, Tests: "echo"}, []string{"n1", "n2"}, "here", []string{"echo"}},
		{AllocationOptions{NodeRoot: root, Exclude: "n8", Down: "n9", Tests: "none"}, []string{"n7", "n8", "n9"}, "here", []string{"excluded", "named"}},
		{AllocationOptions{Remote: "none", Tests: "dir_capacity"}, []string{"n7", "n8", "n9"}, "none", nil},
		{AllocationOptions{Remote: "rsh {node}", Set: []string{"SCR_NODE_TESTS=ping"}}, []string{"n7", "n8", "n9"}, "ssh", []string{"ping"}},
	} {
		c.o.Prefix = prefix
		a, err := FindAllocation(c.o)
		if err != nil {
			t.Fatalf("%+v: %v", c.o, err)
		}
		reach := "here"
		if a.Shell != nil {
			reach = "ssh"
		} else if a.Reach == nil {
			reach = "none"
		}
		k, err := a.Checker()
		if err != nil {
			t.Fatalf("%+v: %v", c.o, err)
		}
		var tests []string
		for _, x := range k.Tests {
			tests = append(tests, x.Name)
		}
		if !slices.Equal(a.Source.Nodes, c.nodes) || reach != c.reach || c.o.Tests+c.o.Remote != "" && !slices.Equal(tests, c.tests) || a.Dir.Path != prefix {
			t.Errorf("%+v: nodes %v, reached by %s, tests %v, prefix %s", c.o, a.Source.Nodes, reach, tests, a.Dir.Path)
		}
	}
}

func TestFindAllocationRefuses(t *testing.T) {
	prefix := bare(t)
	for _, o := range []AllocationOptions{{Set: []string{"x"}}, {Set: []string{"=1"}}, {Remote: "x"}} {
		o.Prefix = prefix
		if _, err := FindAllocation(o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := FindAllocation(AllocationOptions{Prefix: filepath.Join(prefix, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no prefix directory: %v", err)
	}
	a, err := FindAllocation(AllocationOptions{Prefix: prefix, Tests: "pong"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Checker(); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("a test that there is not: %v", err)
	}
}
