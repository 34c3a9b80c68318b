package scrtools

import (
	"errors"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/scr/runloop"
)

// scrAlloc is an allocation with its flags.
type scrAlloc struct {
	runloop.AllocationOptions
	*runloop.Allocation // set by load
}

func (a *scrAlloc) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&a.Nodes, "nodes", "", "nodes of the allocation, as a host `LIST` (default: $SCR_NODELIST, else the nodes of the resource manager, else this host)")
	fl.StringVar(&a.Exclude, "exclude", "", "nodes to exclude (SCR_EXCLUDE_NODES), as a host `LIST`")
	fl.StringVar(&a.Down, "down", "", "nodes known to be down, as a host `LIST`")
	fl.StringVar(&a.Remote, "remote", "", "method to reach nodes: local (this host), ssh, srun, none, or a command that contains {node} (default: local with --launcher local or if this host is the only node, srun in a Slurm job, otherwise ssh)")
	fl.StringVar(&a.NodeRoot, "node-root", "", "simulate all nodes on this host; `DIR`/NODE is the private directory of each node")
	fl.StringVar(&a.Tests, "tests", "", "node tests: a list such as ping,echo,dir_capacity, or \"none\" (SCR_NODE_TESTS)")
	a.settings(cmd)
}

// settings adds the flags that also apply to a single node.
func (a *scrAlloc) settings(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&a.Prefix, "prefix", "", "prefix `DIR` (default: $SCR_PREFIX, else the working directory)")
	fl.BoolVar(&a.Free, "free", false, "compare the free space of disks with the required size, not the total size")
	fl.StringArrayVarP(&a.Set, "set", "s", nil, "set a parameter like the environment does: -s SCR_COPY_TYPE=PARTNER")
}

// load determines the allocation. local means that the launcher starts processes on this host.
func (a *scrAlloc) load(local bool) (err error) {
	a.OneHost = local
	if a.Allocation, err = runloop.FindAllocation(a.AllocationOptions); errors.Is(err, fault.ErrUsage) {
		return cli.AsUsage(err)
	}
	return err
}

// testNames returns the names of the tests.
func testNames(c *runloop.Checker) (out []string) {
	for _, t := range c.Tests {
		out = append(out, t.Name)
	}
	return out
}
