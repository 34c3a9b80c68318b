package scrtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/scr/config"
	"blobio/scr/hostlist"
	"blobio/scr/prefixdir"
	"blobio/scr/runlog"
	"blobio/scr/runloop"
	"blobio/scr/salvage"
)

// scrAlloc is an allocation: its nodes, how they are reached, and the parameters.
type scrAlloc struct {
	prefix, nodes, exclude, down, remote, root, tests string
	set                                               []string
	free                                              bool

	params *config.Set
	dir    *prefixdir.Dir
	source runloop.Source
	local  *runloop.Local // private directories of nodes; Root "" where there are none
	reach  runloop.Remote // nil: nodes are not reached
	shell  *runloop.Shell // nil: nodes are this host
}

func (a *scrAlloc) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&a.prefix, "prefix", "", "prefix `DIR` (default: $SCR_PREFIX, else the working directory)")
	fl.StringVar(&a.nodes, "nodes", "", "nodes of the allocation, as a host `LIST` (default: $SCR_NODELIST, else what the resource manager says, else this host)")
	fl.StringVar(&a.exclude, "exclude", "", "nodes not to use (SCR_EXCLUDE_NODES), as a host `LIST`")
	fl.StringVar(&a.down, "down", "", "nodes that are known to be down, as a host `LIST`")
	fl.StringVar(&a.remote, "remote", "", "how nodes are reached: local (they are this host), ssh, srun, none, or a command with {node} in it (default: local for the launcher local or if this host is the only node, srun in a job of Slurm, else ssh)")
	fl.StringVar(&a.root, "node-root", "", "this host stands for all nodes; `DIR`/NODE is the private directory of each")
	fl.StringVar(&a.tests, "tests", "", "node tests: some of ping,echo,dir_capacity, or none (SCR_NODE_TESTS)")
	fl.BoolVar(&a.free, "free", false, "count what is free on the disks of nodes, not their sizes")
	fl.StringArrayVarP(&a.set, "set", "s", nil, "set a parameter, as the environment would: -s SCR_COPY_TYPE=PARTNER")
}

// load finds out all about the allocation. local says that the launcher starts processes on this host.
func (a *scrAlloc) load(local bool, more ...string) error {
	environ := append(os.Environ(), more...)
	for _, kv := range a.set {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return cli.Usagef("--set %q, want NAME=VALUE", kv)
		}
	}
	environ = append(environ, a.set...)
	for name, v := range map[string]string{"SCR_PREFIX": a.prefix, "SCR_EXCLUDE_NODES": a.exclude, "SCR_NODE_TESTS": a.tests} {
		if v != "" {
			environ = append(environ, name+"="+v)
		}
	}
	if a.prefix != "" {
		if err := needDir(a.prefix); err != nil { // before the file of parameters in it is looked for
			return err
		}
	}
	var err error
	if a.params, err = config.Load(config.Sources{Environ: lastEnv(environ), SystemFile: config.DefaultSystemFile}); err != nil {
		return err
	}
	a.dir = prefixdir.Open(nil, a.params.Prefix())
	a.dir.Shared = os.Getenv(prefixdir.EnvShared) == "1"
	if err := needDir(a.dir.Path); err != nil {
		return err
	}
	given, what := a.nodes, "--nodes"
	if given == "" {
		given, what = a.params.Get("SCR_NODELIST"), "SCR_NODELIST"
	}
	if a.source, err = runloop.FindNodes(given, what, nil); err != nil {
		return err
	}
	bases, err := runloop.Bases(a.params)
	if err != nil {
		return err
	}
	a.local = &runloop.Local{Root: a.root, Grace: 5 * time.Second}
	if a.root != "" {
		if a.local.Root, err = filepath.Abs(a.root); err != nil {
			return err
		}
	}
	for _, b := range bases {
		a.local.Bases = append(a.local.Bases, b.Dir)
	}
	return a.reachBy(local)
}

// lastEnv keeps of each name its last value.
func lastEnv(environ []string) (out []string) {
	at := map[string]int{}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}

// reachBy decides how nodes are reached.
func (a *scrAlloc) reachBy(local bool) error {
	how := a.remote
	if how == "" {
		switch {
		case local || a.root != "" || len(a.source.Nodes) == 1 && a.source.Nodes[0] == a.own():
			how = "local"
		case inSlurm():
			how = "srun"
		default:
			how = "ssh"
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	switch how {
	case "none":
	case "local":
		a.reach = &runloop.Here{Local: a.local}
	case "ssh":
		a.shell = runloop.SSH()
	case "srun":
		a.shell = runloop.Srun()
	default:
		if !strings.Contains(how, "{node}") {
			return cli.Usagef("--remote %q, want local, ssh, srun, none, or a command with {node} in it", how)
		}
		a.shell = runloop.ParseShell(how)
	}
	if a.shell != nil {
		a.shell.Blobio = []string{exe}
		a.reach = a.shell
	}
	return nil
}

// inSlurm tells whether this is a job of Slurm.
func inSlurm() bool {
	if os.Getenv("SLURM_JOB_ID") == "" {
		return false
	}
	_, err := exec.LookPath("srun")
	return err == nil
}

// own is the name that this host has among the nodes, "" if it is none of them.
func (a *scrAlloc) own() string {
	h, err := os.Hostname()
	if err != nil {
		return ""
	}
	short, _, _ := strings.Cut(h, ".")
	for _, n := range a.source.Nodes {
		if s, _, _ := strings.Cut(n, "."); n == h || s == short {
			return n
		}
	}
	return ""
}

// checker makes the node tests, cheap ones first.
func (a *scrAlloc) checker() (*runloop.Checker, error) {
	c := &runloop.Checker{}
	if inSlurm() {
		c.Tests = append(c.Tests, runloop.SlurmDown(nil))
	}
	for _, x := range []struct{ title, list, reason string }{
		{"excluded", a.params.Get("SCR_EXCLUDE_NODES"), "SCR_EXCLUDE_NODES"},
		{"named", a.down, "--down"},
	} {
		list, err := hostlist.Expand(x.list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.reason, err)
		}
		if len(list) > 0 {
			c.Tests = append(c.Tests, &runloop.Named{Title: x.title, Nodes: list, Reason: "by " + x.reason})
		}
	}
	bases, err := runloop.Bases(a.params)
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, name := range strings.Split(a.params.Get("SCR_NODE_TESTS"), ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "none":
		case "ping", "echo", "dir_capacity", "pdsh_echo":
			want[strings.TrimPrefix(name, "pdsh_")] = true
		default:
			return nil, cli.Usagef("SCR_NODE_TESTS names %q, want some of ping, echo, dir_capacity, or none", name)
		}
	}
	if want["ping"] && a.shell != nil {
		c.Tests = append(c.Tests, &runloop.Ping{})
	}
	if want["echo"] && a.reach != nil {
		c.Tests = append(c.Tests, &runloop.Echo{Remote: a.reach})
	}
	if want["dir_capacity"] && a.reach != nil {
		c.Tests = append(c.Tests, &runloop.Dirs{Remote: a.reach, Dirs: bases, Free: a.free})
	}
	return c, nil
}

// names are those of the tests.
func testNames(c *runloop.Checker) (out []string) {
	for _, t := range c.Tests {
		out = append(out, t.Name())
	}
	return out
}

// log opens the log, if it is on; nil otherwise.
func (a *scrAlloc) log() (*runlog.Logger, error) {
	on, err := a.params.Flag("SCR_LOG_ENABLE")
	if err != nil || !on {
		return nil, err
	}
	var sinks []runlog.Sink
	if text, err := a.params.Flag("SCR_LOG_TXT_ENABLE"); err != nil {
		return nil, err
	} else if text {
		if err := a.dir.Create(); err != nil {
			return nil, err
		}
		t, err := runlog.OpenText(a.dir.File("log"))
		if err != nil {
			return nil, err
		}
		sinks = append(sinks, t)
	}
	if sys, err := a.params.Flag("SCR_LOG_SYSLOG_ENABLE"); err != nil {
		return nil, err
	} else if sys && runlog.HaveSyslog {
		if l, err := runlog.OpenSyslog(); err == nil { // where there is none, the text must do
			sinks = append(sinks, l)
		}
	}
	job, err := a.params.JobID()
	if err != nil {
		return nil, err
	}
	return runlog.New(runlog.Options{JobID: job, Sinks: sinks}), nil
}

// salvage saves what is only in the caches of nodes that are up.
func (a *scrAlloc) salvage(ctx context.Context, up []string) (*salvage.RunReport, error) {
	o := salvage.RunOptions{Prefix: a.dir}
	local := a.local
	switch {
	case a.shell != nil:
		local, o.Scavenge = nil, a.shell.Scavenge
	case a.local.Root == "": // all nodes are this host
		up = up[:min(1, len(up))]
	}
	var err error
	if o.Nodes, err = runloop.CacheNodes(a.params, up, local); err != nil {
		return nil, err
	}
	if len(o.Nodes) == 0 {
		return nil, errors.New("no node is up")
	}
	return salvage.Run(ctx, o)
}

// salvaged says in one line what salvage did, and whether anything is lost.
func salvaged(rep *salvage.RunReport) (text string, lost bool) {
	var parts []string
	for _, t := range rep.Tried {
		name := cmp.Or(t.Dataset.Name, "dataset "+strconv.Itoa(t.ID))
		if t.Err != nil {
			lost = true
			parts = append(parts, name+" could not be saved: "+elsewhere(salvageText(t.Err)))
			for _, n := range slices.Sorted(maps.Keys(t.Nodes)) {
				if err := t.Nodes[n]; err != nil {
					parts = append(parts, n+": "+elsewhere(salvageText(err)))
				}
			}
		} else {
			parts = append(parts, fmt.Sprintf("%s was saved (%d of its files rebuilt)", name, len(t.Result.Rebuilt)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing was in the caches alone"}
	}
	if rep.Current != "" {
		parts = append(parts, "the next allocation starts from "+rep.Current)
	}
	return strings.Join(parts, "; "), lost
}
