package scrtools

import (
	"errors"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/scr/runloop"
)

// scrAlloc is an allocation, and what flags say of it.
type scrAlloc struct {
	runloop.AllocationOptions
	*runloop.Allocation // after load
}

func (a *scrAlloc) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&a.Nodes, "nodes", "", "nodes of the allocation, as a host `LIST` (default: $SCR_NODELIST, else what the resource manager says, else this host)")
	fl.StringVar(&a.Exclude, "exclude", "", "nodes not to use (SCR_EXCLUDE_NODES), as a host `LIST`")
	fl.StringVar(&a.Down, "down", "", "nodes that are known to be down, as a host `LIST`")
	fl.StringVar(&a.Remote, "remote", "", "how nodes are reached: local (they are this host), ssh, srun, none, or a command with {node} in it (default: local for the launcher local or if this host is the only node, srun in a job of Slurm, else ssh)")
	fl.StringVar(&a.NodeRoot, "node-root", "", "this host plays all nodes; `DIR`/NODE is the private directory of each")
	fl.StringVar(&a.Tests, "tests", "", "node tests: some of ping,echo,dir_capacity, or none (SCR_NODE_TESTS)")
	a.settings(cmd)
}

// settings are the flags that one node has, too.
func (a *scrAlloc) settings(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&a.Prefix, "prefix", "", "prefix `DIR` (default: $SCR_PREFIX, else the working directory)")
	fl.BoolVar(&a.Free, "free", false, "require free space on the disks of nodes, not size")
	fl.StringArrayVarP(&a.Set, "set", "s", nil, "set a parameter, as the environment would: -s SCR_COPY_TYPE=PARTNER")
}

// load finds out all about the allocation. local says that the launcher starts processes on this host.
func (a *scrAlloc) load(local bool) (err error) {
	a.OneHost = local
	if a.Allocation, err = runloop.FindAllocation(a.AllocationOptions); errors.Is(err, fault.ErrUsage) {
		return cli.AsUsage(err)
	}
	return err
}

// testNames are the names of the tests.
func testNames(c *runloop.Checker) (out []string) {
	for _, t := range c.Tests {
		out = append(out, t.Name)
	}
	return out
}
