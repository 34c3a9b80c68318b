package runloop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/salvage"
)

// AllocationOptions describe an allocation, in addition to the environment. Lists of hosts have the syntax of package
// hostlist.
type AllocationOptions struct {
	Prefix   string   // prefix directory; default: SCR_PREFIX, else the working directory
	Nodes    string   // list of hosts; default: SCR_NODELIST, else the resource manager's list, else this host
	Exclude  string   // list of hosts that must not be used (SCR_EXCLUDE_NODES)
	Down     string   // list of hosts that are known to be down
	Remote   string   // how to reach nodes: local, ssh, srun, none, or a command that contains {node}; "": chosen automatically
	NodeRoot string   // for runs on one host: the parent of the private directories that stand for the nodes' disks
	Tests    string   // node tests: some of ping,echo,dir_capacity, or none (SCR_NODE_TESTS)
	Free     bool     // compare the free space on node disks, not their total sizes, with the required size
	Set      []string // parameters NAME=VALUE; they override the environment
	OneHost  bool     // all processes run on this host
}

// Allocation is the resources of a job: its nodes, the way to run commands on them, and the parameters of SCR.
type Allocation struct {
	Params *config.Set
	Dir    *prefixdir.Dir
	Source Source
	Local  *Local // private directories of nodes; if there are none, Root is ""
	Reach  Remote // nil: nodes cannot be reached
	Shell  *Shell // nil: all nodes are this host

	o AllocationOptions
}

// FindAllocation determines the allocation of this process.
func FindAllocation(o AllocationOptions) (*Allocation, error) {
	a := &Allocation{o: o}
	for _, kv := range o.Set {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return nil, fault.Usage("parameter %q, want NAME=VALUE", kv)
		}
	}
	environ := append(os.Environ(), o.Set...)
	for name, v := range map[string]string{"SCR_PREFIX": o.Prefix, "SCR_EXCLUDE_NODES": o.Exclude, "SCR_NODE_TESTS": o.Tests} {
		if v != "" {
			environ = append(environ, name+"="+v)
		}
	}
	if o.Prefix != "" {
		if err := NeedDir(o.Prefix); err != nil { // check before a parameter file is searched for in the prefix directory
			return nil, err
		}
	}
	var err error
	if a.Params, err = config.Load(config.Sources{Environ: LastEnv(environ), SystemFile: config.DefaultSystemFile}); err != nil {
		return nil, err
	}
	a.Dir = prefixdir.Open(nil, a.Params.Prefix())
	a.Dir.Shared = os.Getenv(prefixdir.EnvShared) == "1"
	if err := NeedDir(a.Dir.Path); err != nil {
		return nil, err
	}
	given, what := o.Nodes, "--nodes"
	if given == "" {
		given, what = a.Params.Get("SCR_NODELIST"), "SCR_NODELIST"
	}
	if a.Source, err = FindNodes(given, what, nil); err != nil {
		return nil, err
	}
	bases, err := Bases(a.Params)
	if err != nil {
		return nil, err
	}
	a.Local = &Local{Root: o.NodeRoot, Grace: 5 * time.Second}
	if o.NodeRoot != "" {
		if a.Local.Root, err = filepath.Abs(o.NodeRoot); err != nil {
			return nil, err
		}
	}
	for _, b := range bases {
		a.Local.Bases = append(a.Local.Bases, b.Dir)
	}
	return a, a.reachBy()
}

// LastEnv returns an environment in which each name occurs only once, with its last value.
func LastEnv(environ []string) (out []string) {
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

// reachBy selects how to run commands on nodes.
func (a *Allocation) reachBy() error {
	how := a.o.Remote
	if how == "" {
		switch {
		case a.o.OneHost || a.o.NodeRoot != "" || len(a.Source.Nodes) == 1 && a.Source.Nodes[0] == a.Own():
			how = "local"
		case InSlurm():
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
		a.Reach = &Here{Local: a.Local}
	case "ssh":
		a.Shell = SSH()
	case "srun":
		a.Shell = Srun()
	default:
		if !strings.Contains(how, "{node}") {
			return fault.Usage("unknown method %q to reach nodes, want local, ssh, srun, none, or a command that contains {node}", how)
		}
		a.Shell = ParseShell(how)
	}
	if a.Shell != nil {
		a.Shell.Blobio = []string{exe}
		a.Reach = a.Shell
	}
	return nil
}

// InSlurm reports whether this process runs in a Slurm job.
func InSlurm() bool {
	if os.Getenv("SLURM_JOB_ID") == "" {
		return false
	}
	_, err := exec.LookPath("srun")
	return err == nil
}

// Own returns the name of the node that is this host, or "" if this host is not one of the nodes.
func (a *Allocation) Own() string {
	h, err := os.Hostname()
	if err != nil {
		return ""
	}
	short, _, _ := strings.Cut(h, ".")
	for _, n := range a.Source.Nodes {
		if s, _, _ := strings.Cut(n, "."); n == h || s == short {
			return n
		}
	}
	return ""
}

// Checker returns a Checker with the selected node tests, the cheapest first.
func (a *Allocation) Checker() (*Checker, error) {
	c := &Checker{}
	if InSlurm() {
		c.Tests = append(c.Tests, SlurmDown(RunCommand))
	}
	for _, x := range []struct{ title, list, reason string }{
		{"excluded", a.Params.Get("SCR_EXCLUDE_NODES"), "SCR_EXCLUDE_NODES"},
		{"named", a.o.Down, "--down"},
	} {
		list, err := hostlist.Expand(x.list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.reason, err)
		}
		if len(list) > 0 {
			c.Tests = append(c.Tests, Named(x.title, list, "by "+x.reason))
		}
	}
	bases, err := Bases(a.Params)
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, name := range strings.Split(a.Params.Get("SCR_NODE_TESTS"), ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "none":
		case "ping", "echo", "dir_capacity", "pdsh_echo":
			want[strings.TrimPrefix(name, "pdsh_")] = true
		default:
			return nil, fault.Usage("SCR_NODE_TESTS names %q, want some of ping, echo, dir_capacity, or none", name)
		}
	}
	if want["ping"] && a.Shell != nil {
		c.Tests = append(c.Tests, Ping(RunCommand))
	}
	if want["echo"] && a.Reach != nil {
		c.Tests = append(c.Tests, Echo(a.Reach))
	}
	if want["dir_capacity"] && a.Reach != nil {
		c.Tests = append(c.Tests, Dirs(a.Reach, bases, a.o.Free))
	}
	return c, nil
}

// Log opens the log. It returns nil if logging is disabled.
func (a *Allocation) Log() (*runlog.Logger, error) {
	job, err := config.JobOf(a.Params)
	if err != nil {
		return nil, err
	}
	if on, err := a.Params.Flag("SCR_LOG_ENABLE"); err != nil || !on {
		return nil, err
	}
	if err := a.Dir.Create(); err != nil {
		return nil, err
	}
	return runlog.Open(a.Params, vfs.OS, a.Dir.File("log"), runlog.Options{JobID: job.ID})
}

// Salvage saves datasets that exist only in the node caches. up lists the nodes that are alive.
func (a *Allocation) Salvage(ctx context.Context, up []string) (*salvage.RunReport, error) {
	o := salvage.RunOptions{Prefix: a.Dir}
	local := a.Local
	switch {
	case a.Shell != nil:
		local, o.Scavenge = nil, a.Shell.Scavenge
	case a.Local.Root == "": // all nodes are this host
		up = up[:min(1, len(up))]
	}
	var err error
	if o.Nodes, err = CacheNodes(a.Params, up, local); err != nil {
		return nil, err
	}
	if len(o.Nodes) == 0 {
		return nil, errors.New("no node is up")
	}
	return salvage.Run(ctx, o)
}

// NeedDir returns an error if a path is not a directory.
func NeedDir(path string) error {
	info, err := vfs.OS.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file, want a directory", path)
	}
	return err
}
